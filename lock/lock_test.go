package lock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
)

func TestFailedSaysWhatWasDoneToWhichKey(t *testing.T) {
	refused := errors.New("connection refused")
	err := lock.Failed(t.Context(), "acquire", "stock", refused)
	assert.EqualError(t, err, `acquire "stock": connection refused`)
	assert.ErrorIs(t, err, refused)
}

// A driver that reads with the context's deadline reports a timeout of the
// connection, and a canceled one perhaps a closed connection.
func TestFailedAddsTheErrorOfAnEndedContext(t *testing.T) {
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		cause error
	}{
		{"a deadline", expired, context.DeadlineExceeded},
		{"a canceled context", canceled, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lock.Failed(c.ctx, "acquire", "stock",
				os.ErrDeadlineExceeded)
			assert.ErrorIs(t, err, c.cause)
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.EqualError(t, err, `acquire "stock": `+
				c.cause.Error()+" (i/o timeout)")
		})
	}
}

func TestFailedDoesNotRepeatTheErrorOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := lock.Failed(ctx, "wait for", "stock", ctx.Err())
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, `wait for "stock": context canceled`)
}

// late is a context whose deadline has passed, and whose own timer has not told
// it yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

func TestFailedAddsTheDeadlineBeforeTheContextDoes(t *testing.T) {
	err := lock.Failed(late{t.Context()}, "acquire", "stock",
		os.ErrDeadlineExceeded)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// The server's answer has nothing to do with a context that ended meanwhile.
func TestFailedBlamesNoContextForAnAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, answer := range []error{
		lock.ErrNotHeld, lock.ErrLost, lock.ErrBusy, lock.ErrUpgrade,
	} {
		err := lock.Failed(ctx, "release", "stock", answer)
		assert.ErrorIs(t, err, answer)
		assert.NotErrorIs(t, err, context.Canceled)
	}
}

func TestErrorsCanBeToldApart(t *testing.T) {
	all := []error{lock.ErrNotHeld, lock.ErrLost, lock.ErrBusy,
		lock.ErrUpgrade, lock.ErrInvalid}
	for _, is := range all {
		wrapped := lock.Failed(t.Context(), "release", "stock", is)
		for _, other := range all {
			assert.Equal(t, is == other, errors.Is(wrapped, other),
				"%q and %q", is, other)
		}
	}
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

func TestFlawsAreReadFromOneLineAScenario(t *testing.T) {
	assert.Equal(t, []lock.Flaw{
		{Scenario: "slow_get", Invariant: "foreign release"},
		{Scenario: "failover", Invariant: "two holders"},
		{Scenario: "failover", Invariant: "stale write"},
	}, lock.Flaws(
		"slow_get: foreign release",
		"failover: two holders, stale write",
	))
	require.Empty(t, lock.Flaws())
}
