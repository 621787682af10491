package lock_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/lock"
)

// late is a context whose deadline has passed, and whose own timer has not told
// it yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

func TestFailedSaysWhatWasDoneToWhichKeyAndWhy(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		says string
	}{
		{t.Context(), io.EOF, `acquire "stock": EOF`},
		{canceled, canceled.Err(), `acquire "stock": context canceled`},
		{late{t.Context()}, os.ErrDeadlineExceeded,
			`acquire "stock": context deadline exceeded (i/o timeout)`},
		// The server's answer has nothing to do with a context that ended meanwhile.
		{canceled, lock.ErrNotHeld, `acquire "stock": ` + lock.ErrNotHeld.Error()},
		{canceled, lock.ErrLost, `acquire "stock": ` + lock.ErrLost.Error()},
		{canceled, lock.ErrBusy, `acquire "stock": ` + lock.ErrBusy.Error()},
		{canceled, lock.ErrUpgrade, `acquire "stock": ` + lock.ErrUpgrade.Error()},
	} {
		err := lock.Failed(c.ctx, "acquire", "stock", c.err)
		assert.EqualError(t, err, c.says)
		assert.ErrorIs(t, err, c.err)
	}
	assert.ErrorIs(t, lock.Failed(late{t.Context()}, "", "", io.EOF), context.DeadlineExceeded)
}

// slot is the part of a key that Redis Cluster hashes: the text in the first
// braces, or the whole key when there are none or nothing is in them.
func slot(key string) string {
	_, after, opened := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	if opened && closed && tag != "" {
		return tag
	}
	return key
}

func TestSecondKeyStaysInTheSlotOfTheKey(t *testing.T) {
	for key, beside := range map[string]string{
		"stock":           "{stock}:token",
		"shop:stock":      "{shop:stock}:token",
		"{stock}":         "{stock}::token",
		"{shop}:stock":    "{shop}:stock::token",
		"a{shop}b{stock}": "a{shop}b{stock}::token",
		"stock{":          "{stock{}:token",
		"{stock":          "{{stock}:token",
	} {
		t.Run(key, func(t *testing.T) {
			assert.Equal(t, beside, lock.SecondKey(key, "token"))
			assert.Equal(t, slot(key), slot(lock.SecondKey(key, "token")))
			assert.NotEqual(t, lock.SecondKey(key, "released"),
				lock.SecondKey(key, "token"))
		})
	}
}

// All short names of these characters: those that a second key is made with, and
// one that is a name's own.
func TestNoTwoKeysShareASecondOne(t *testing.T) {
	names, longest := []string{""}, 6
	for first := 0; len(names[first]) < longest; first++ {
		for _, c := range "{}:a" {
			names = append(names, names[first]+string(c))
		}
	}
	owner := map[string]string{}
	for _, key := range names[1:] {
		for _, what := range []string{"a", "token"} {
			beside := lock.SecondKey(key, what)
			if other, ok := owner[beside]; ok {
				t.Fatalf("%q is beside %q and beside %q", beside, other, key)
			}
			owner[beside] = key
		}
	}
}
