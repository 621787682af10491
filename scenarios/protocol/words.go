package protocol

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/lockladder/lockladder/lock"
)

// The words of the protocol for errors.
const (
	NotHeld    = "not_held" // lock.ErrNotHeld
	LostBefore = "lost"     // lock.ErrLost
	Busy       = "busy"     // lock.ErrBusy
	Upgrade    = "upgrade"  // lock.ErrUpgrade
	Deadline   = "deadline" // context.DeadlineExceeded
	Canceled   = "canceled" // context.Canceled
	Unknown    = "unknown"  // any other; nobody knows what the server has done
)

// known are the errors that a caller tells apart, with their words in the protocol and
// in a timeline.
var known = []struct {
	err        error
	word, name string
}{
	{lock.ErrNotHeld, NotHeld, "ErrNotHeld"},
	{lock.ErrLost, LostBefore, "ErrLost"},
	{lock.ErrBusy, Busy, "ErrBusy"},
	{lock.ErrUpgrade, Upgrade, "ErrUpgrade"},
	{context.DeadlineExceeded, Deadline, "deadline exceeded"},
	{os.ErrDeadlineExceeded, Deadline, "deadline exceeded"}, // the driver's
	{context.Canceled, Canceled, "context canceled"},
}

// ErrorName is a call's error as a timeline says it, the same in every run: "ok",
// "error", or what a caller tells it apart as.
func ErrorName(err error) string {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if err != nil {
		return "error"
	}
	return "ok"
}

// wordOf is an error in the protocol.
func wordOf(err error) string {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.word
		}
	}
	return Unknown
}

// errorOf is the error that a word stands for, nil for an unknown one.
func errorOf(word string) error {
	for _, k := range known {
		if k.word == word {
			return k.err
		}
	}
	return nil
}

func allWords() string {
	return strings.Join([]string{NotHeld, LostBefore, Busy, Upgrade, Deadline, Canceled,
		Unknown}, ", ")
}

// InWords is a text of the scenarios with the protocol's words for Go's errors.
func InWords(text string) string { return inWords.Replace(text) }

var inWords = strings.NewReplacer("lock.ErrNotHeld", NotHeld, "ErrNotHeld", NotHeld,
	"lock.ErrLost", LostBefore, "ErrLost", LostBefore, "ErrBusy", Busy,
	"ErrUpgrade", Upgrade)
