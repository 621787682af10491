package readwrite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Here a command of an owner is answered too late, or not at all.

func TestAReadLockWhoseReplyWasLostIsFoundAgain(t *testing.T) {
	for _, again := range []string{"read", "write"} {
		t.Run(again, func(t *testing.T) {
			world(t, func(w *lab.World, owner func(string) *owner) {
				a := owner("A")
				a.does(0, func(ctx context.Context) {
					require.NoError(t, a.RLock(ctx)) // its scripts are known now
					require.NoError(t, a.RUnlock(ctx))
					require.NoError(t, a.Lock.Lock(ctx))
					require.NoError(t, a.Unlock(ctx))
					a.Step("breaks", func() {
						a.Begin(lab.Acquire)
						a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
					})
					_, err := a.TryRLock(ctx)
					require.Error(t, err)
					if again == "read" {
						granted, err := a.TryRLock(ctx)
						assert.True(t, granted)
						assert.NoError(t, err)
						assert.NoError(t, a.RUnlock(ctx))
					}
					granted, err := a.TryLock(ctx)
					assert.True(t, granted, "it is not refused by itself")
					assert.NoError(t, err)
					assert.NoError(t, a.Unlock(ctx))
				})
			})
		})
	}
}

func TestAWriteLockWhoseReplyWasLostDoesNotRefuseItsReader(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.Lock.Lock(ctx))
			require.NoError(t, a.Unlock(ctx))
			a.Step("breaks", func() {
				a.Begin(lab.Acquire)
				a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
			})
			_, err := a.TryLock(ctx)
			require.Error(t, err)
			granted, err := a.TryRLock(ctx)
			assert.True(t, granted)
			assert.NoError(t, err)
			a.at(2 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			granted, err := b.TryRLock(ctx)
			assert.True(t, granted, "A reads, and the write lock is gone")
			assert.NoError(t, err)
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}

func TestAReadLockThatIsGrantedTooLateIsGivenBack(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a := owner("A")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			require.NoError(t, a.RUnlock(ctx))
			a.Step("slow", func() {
				a.Begin(lab.Acquire)
				a.Fault(lab.Acquire, 1, lab.Fault{AnswerAfter: ttl})
			})
			granted, err := a.TryRLock(ctx)
			assert.False(t, granted, "the lease is over")
			assert.NoError(t, err)
			a.Step("looks", func() {
				assert.Zero(t, w.Node(0).Observe("{stock}:readers"))
			})
		})
	})
}

// A downgrade whose reply is lost was done: the reader goes on, and nobody's lock
// stays.
func TestALostReplyOfADowngradeLeavesAReader(t *testing.T) {
	for name, fault := range map[string]lab.Fault{"executed": {LoseReply: true},
		"not executed": {Refuse: true}} {
		t.Run(name, func(t *testing.T) {
			world(t, func(w *lab.World, owner func(string) *owner) {
				a, b := owner("A"), owner("B")
				a.does(0, func(ctx context.Context) {
					require.NoError(t, a.Lock.Lock(ctx))
					require.NoError(t, a.RLock(ctx))
					a.Step("breaks", func() {
						a.Begin(lab.Release)
						for nth := range 2 { // NOSCRIPT, and the script
							a.Fault(lab.Release, 1+nth, fault)
						}
					})
					err := a.Unlock(ctx)
					assert.Error(t, err)
					assert.NotErrorIs(t, err, lock.ErrNotHeld)
					a.at(12 * second) // renewed three times
					assert.False(t, isClosed(a.Lost()))
					assert.NoError(t, a.RUnlock(ctx))
				})
				b.does(2*second, func(ctx context.Context) {
					granted, _ := b.TryLock(ctx)
					assert.False(t, granted, "A reads")
					b.at(13 * second)
					granted, _ = b.TryLock(ctx)
					assert.True(t, granted)
					assert.NoError(t, b.Unlock(ctx))
				})
			})
		})
	}
}
