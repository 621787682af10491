package protocol

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/lockladder/lockladder/lock"
)

// Version is the version of the protocol.
const Version = 1

// The types of requests. Each has an id, and its answer has the same id; answers
// may come in another order.
const (
	Hello       = "hello"  // the first one; also the type of its answer
	Build       = "build"  // makes an owner
	TryLock     = "try"    // one attempt
	Lock        = "lock"   // waits until the deadline
	Unlock      = "unlock" // leaves one level
	TryReadLock = "try_read"
	ReadLock    = "read"
	ReadUnlock  = "read_unlock"
	Cancel      = "cancel" // end the request Of; may be ignored, has no answer
	Sell        = "sell"   // sell a stock to many owners, for a benchmark
)

// The types of answers.
const (
	OK      = "ok"      // of build, unlock and read_unlock
	Granted = "granted" // of the attempts, and lock and read
	Refused = "refused" // of the attempts
	Error   = "error"   // of all: Error is a word of errorWords, Text for a person
	Lost    = "lost"    // unasked: the lease of the grant Of is gone
	Sold    = "sold"    // of sell
)

// Feature is what a program may offer.
type Feature = string

// The features.
const (
	Renewal     Feature = "renewal"     // the lease is renewed while it's held
	FixedLease  Feature = "fixed_lease" // unless build says fixed_lease
	LossNotices Feature = "lost"        // a holder whose lease is gone is told
	Reentry     Feature = "reentry"     // an owner that holds the lock gets it again
	Fencing     Feature = "fencing"     // a grant has a token
	ReadWrite   Feature = "read_write"  // the requests of the read side
)

// Features are all of them.
var Features = []Feature{Renewal, FixedLease, LossNotices, Reentry, Fencing, ReadWrite}

// KeyOf stands for the name of the lock in Answer.Keys.
const KeyOf = "{key}"

// Request is a line that a program reads.
type Request struct {
	ID   int    `json:"id"`
	Type string `json:"type"`

	// Of hello.
	Protocol int    `json:"protocol,omitempty"`
	Nodes    []Node `json:"nodes,omitempty"`

	// Of all others: the owner's name, of the program's choosing where it is built.
	Owner string `json:"owner,omitempty"`

	// Of build. A program that has no such setting ignores it.
	Key         string `json:"key,omitempty"`
	Lease       int64  `json:"lease_ms,omitempty"`
	Poll        int64  `json:"poll_ms,omitempty"`
	NodeTimeout int64  `json:"node_timeout_ms,omitempty"`
	FixedLease  bool   `json:"fixed_lease,omitempty"`

	// Of the attempts, of lock and of read: how much time is left, 0 is no limit.
	Deadline int64 `json:"deadline_ms,omitempty"`

	// Of the attempts and the releases: the caller's context was canceled before. A
	// lock that obeys such a thing sends nothing, and answers Canceled.
	Canceled bool `json:"canceled,omitempty"`

	// Of cancel: the id of the request.
	Of int `json:"of,omitempty"`

	// Of sell, with those of build: how many owners, each with a connection of its
	// own, take how many turns each, and the key of the stock.
	Owners int    `json:"owners,omitempty"`
	Turns  int    `json:"turns,omitempty"`
	Stock  string `json:"stock,omitempty"`
}

// Node is where a program finds a Redis server.
type Node struct {
	Address  string `json:"address"` // host:port
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// Answer is a line that a program writes.
type Answer struct {
	ID   int    `json:"id,omitempty"`
	Type string `json:"type"`

	// Of hello.
	Protocol int       `json:"protocol,omitempty"`
	Library  string    `json:"library,omitempty"`
	Features []Feature `json:"features,omitempty"`
	Servers  int       `json:"servers,omitempty"` // default: 1

	// Of hello, too: names of Redis keys, with {key} for the lock's. Keys stand for
	// the lock, by default its name. Keeps stay on purpose and have no expiry, such
	// as a counter. Readers is a sorted set of a read-write lock's readers, by the
	// ends of their leases in milliseconds.
	Keys    []string `json:"keys,omitempty"`
	Keeps   []string `json:"keeps,omitempty"`
	Readers string   `json:"readers,omitempty"`

	// Of granted, with the feature fencing.
	Token uint64 `json:"token,omitempty"`

	// Of error.
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`

	// Of lost: the id of the request that was granted.
	Of int `json:"of,omitempty"`

	// Of sold: for each critical section when its owner asked, when it was in and
	// when it had done its work, in microseconds since the start; how many items
	// were taken; how often the stock had changed between reading and taking; and
	// how many turns failed. Text is the first failure.
	Sections [][3]int64 `json:"sections,omitempty"`
	Bought
	Failures int64 `json:"failures,omitempty"`

	line string
}

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
	return strings.Join([]string{NotHeld, LostBefore, Busy, Upgrade, Deadline, Canceled, Unknown}, ", ")
}

// InWords is a text of the scenarios with the protocol's words for Go's errors.
func InWords(text string) string { return inWords.Replace(text) }

var inWords = strings.NewReplacer("lock.ErrNotHeld", NotHeld, "scenarios.ErrNotHeld", NotHeld, "ErrNotHeld", NotHeld,
	"lock.ErrLost", LostBefore, "ErrLost", LostBefore, "ErrBusy", Busy,
	"ErrUpgrade", Upgrade)
