package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// counting makes a lock re-entrant: it counts levels in the process, and sends a command
// for the outermost one only.
func counting(build lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		levels := 0
		return plainly{
			func(ctx context.Context) (bool, error) {
				if levels == 0 {
					granted, err := l.TryLock(ctx)
					if !granted || err != nil {
						return granted, err
					}
				}
				levels++
				return true, nil
			},
			func(ctx context.Context) error {
				if levels--; levels > 0 {
					return nil
				}
				return l.Unlock(ctx)
			},
		}, err
	}
}

// stealing takes the lock from whoever has it.
func stealing(env lock.Env) (lock.Lock, error) {
	return plainly{
		func(ctx context.Context) (bool, error) {
			return true, env.Nodes[0].Set(ctx, env.Key, token(env), env.TTL).Err()
		},
		deleting(env),
	}, nil
}

// An inner Unlock that sends nothing is right as long as the servers have the grant.
func TestAnInnerUnlockMaySendNothing(t *testing.T) {
	build := counting(locktest.Find(t, "diamond").Build)
	bounds := Bounds{Programs: []Program{Nested}}
	report, err := explore(t, build, bounds, true, search)
	require.NoError(t, err)
	_, found := report.Failure(FalseSuccess)
	assert.False(t, found, report)

	replayed, err := replay(t, build, bounds, "nested: A> A< E A=")
	require.NoError(t, err)
	assert.Contains(t, replayed.Broken, Breach{FalseSuccess, "A's inner Unlock returns nil," +
		" and the servers did not have its grant"})
}

// What the servers have decides then, so another client's command doesn't commute with
// the return of such an Unlock.
func TestAnInnerUnlockThatSendsNothingDependsOnTheServers(t *testing.T) {
	walk := sameGraph(t, counting(stealing), Bounds{Attempts: 1,
		Programs: []Program{Nested}})
	assert.NotZero(t, walk.Inferred)
	assert.Contains(t, walk.Found, FalseSuccess)
}
