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

// late is a context whose deadline has passed, and whose own timer has not told
// it yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

// An error has that of a context that has ended, once. The server's answer has nothing
// to do with it.
func TestFailedBlamesTheContext(t *testing.T) {
	err := lock.Failed(late{t.Context()}, "acquire", "stock", os.ErrDeadlineExceeded)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = lock.Failed(ctx, "wait for", "stock", ctx.Err())
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, `wait for "stock": context canceled`)
	for _, answer := range []error{
		lock.ErrNotHeld, lock.ErrLost, lock.ErrBusy, lock.ErrUpgrade,
	} {
		err := lock.Failed(ctx, "release", "stock", answer)
		assert.ErrorIs(t, err, answer)
		assert.NotErrorIs(t, err, context.Canceled)
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

// All short names of these characters: those that a second key is made with, and
// one that is a name's own. Where a brace is stray, no second key can be in the slot.
func TestASecondKeyIsInTheSlotOfItsKeyAndOfNoOther(t *testing.T) {
	assert.Equal(t, "{stock}:token", lock.SecondKey("stock", "token"))
	assert.Equal(t, "{shop}:stock::token", lock.SecondKey("{shop}:stock", "token"))
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
			if slot(beside) != slot(key) && !strings.Contains(slot(key), "}") {
				t.Fatalf("%q is not in the slot of %q", beside, key)
			}
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
