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
