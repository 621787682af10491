package explore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// firstToken is a lock whose grants all have the token of the first.
type firstToken struct {
	inner
	token uint64
}

type inner interface{ lock.Lock }

// Token is lock.Fenced's.
func (f *firstToken) Token() uint64 {
	if f.token == 0 {
		f.token = lab.Token(f.inner)
	}
	return f.token
}

func withFirstToken(build lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		return &firstToken{inner: l}, err
	}
}

// A wrong lock is found in bounds in which a right one, and the rung that is nearest to
// it, are accused of nothing.
func TestTwoNamesAnErrorReplyAndOneUnlockTooManyFindWrongLocks(t *testing.T) {
	locktest.Long(t, "it walks the graphs of several locks")
	t.Parallel()
	right := []lock.Build{wrong.Mistakes{}.Build, locktest.Find(t, "diamond/watchdog").Build,
		locktest.Find(t, "reentrant/fenced").Build}
	names := explore.Bounds{Programs: []explore.Program{explore.Names}}
	extra := explore.Bounds{Programs: []explore.Program{explore.Extra}}
	errors := explore.Bounds{Errors: 1, Programs: []explore.Program{explore.Once}}
	for _, bounds := range []explore.Bounds{names, extra, errors} {
		for _, build := range right {
			report := explore.Run(t, build, bounds)
			assert.True(t, report.Exhausted())
			for _, walk := range report.Walks {
				assert.Empty(t, walk.Found, "%s", report)
			}
		}
	}
	twice := explore.Bounds{Programs: []explore.Program{explore.Twice}}
	for build, old := range map[string]bool{"diamond/fenced": false, "reentrant/fenced": true} {
		lockOf := locktest.Find(t, build).Build
		if old {
			lockOf = withFirstToken(lockOf)
		}
		report := explore.Run(t, lockOf, twice)
		_, found := report.Failure(explore.FalseSuccess)
		assert.Equal(t, old, found, "%s", report)
	}
	for mistake, test := range map[string]struct {
		bounds explore.Bounds
		breaks explore.Invariant
	}{
		"a count of a process's levels for all names":          {names, explore.FalseSuccess},
		"a mutex in a process for all names":                   {names, explore.SelfDeadlock},
		"a handle that counts one Unlock too many":             {extra, explore.FalseSuccess},
		"a release that is answered with an error, and counts": {errors, explore.FalseSuccess},
	} {
		for _, m := range wrong.All {
			if m.Name == mistake {
				report := explore.Run(t, m.Build(), test.bounds)
				f, found := report.Failure(test.breaks)
				assert.True(t, found, "%s: %s", mistake, report)
				t.Logf("%s: %s: %s", mistake, test.breaks, f.Schedule)
			}
		}
	}
	freesAnothers := explore.Run(t, wrong.Mistakes{Blind: true}.Build, extra)
	_, found := freesAnothers.Failure(explore.ForeignRelease)
	assert.True(t, found, "an Unlock too many deletes whatever is there: %s", freesAnothers)
}
