package explore

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// When two states that go on in different ways are taken for one, the search sees fewer
// schedules than there are, or a lock no longer does the same thing twice.

// after takes a schedule and looks at the run then.
func after(t *testing.T, build lock.Build, bounds Bounds, schedule string, look func(*run)) {
	t.Helper()
	program, _, actions, err := read(schedule)
	require.NoError(t, err)
	require.NoError(t, inWorld(t, build, bounds, true, func(r *run) error {
		r.program = program
		if err := r.begin(); err != nil {
			return err
		}
		for _, a := range actions {
			if _, err := r.take(a); err != nil {
				return fmt.Errorf("%w: %s of %s", err, a.write(1), write(r.enabled(), 1))
			}
		}
		look(r)
		return nil
	}))
}

// Each pair of schedules leads to two states that go on in different ways.
func TestNoTwoStatesThatGoOnDifferentlyAreTakenForOne(t *testing.T) {
	for name, test := range map[string]struct {
		build lock.Build
		pair  [2]string
	}{
		"a dead client's script is one, or the other": {trying(twoScripts),
			[2]string{"Ax", "A> A< Ax"}},
		"a dead client listens, or not": {subscribing,
			[2]string{"wait: B> A> A< A> Ax", "wait: B> A> A< A> A< A> Ax"}},
	} {
		t.Run(name, func(t *testing.T) {
			var keys [2]any
			for i, schedule := range test.pair {
				after(t, test.build, Bounds{Crashes: 1}, schedule, func(r *run) {
					keys[i] = r.key()
				})
			}
			assert.NotEqual(t, keys[0], keys[1])
		})
	}
}

// A's lease is from the moment of its request, and its renewal from that of the grant: both
// timers would be due at 13.333 s. The first one comes first in each run, and then the
// other one does nothing.
func TestTimersThatWereSetAtTwoMomentsAreNotDueAtOne(t *testing.T) {
	for range 20 {
		after(t, locktest.Find(t, "diamond/watchdog").Build, Bounds{Expiries: 1, Timers: 2},
			"twice: A> A< A= A= A> B> B< B= R A< E A> A<", func(r *run) {
				_, err := r.take(action{sign: timer})
				assert.ErrorIs(t, err, errQuiet)
			})
	}
}

// B gives up before its subscription is confirmed: nobody listens when A releases.
func TestAConnectionThatItsClientHasClosedIsOverForItsServer(t *testing.T) {
	after(t, subscribing, Bounds{GiveUps: 1}, "wait: A> A< A= B> B< B> Bg A>",
		func(r *run) { assert.True(t, r.free()) })
}

// A client that is done and still listens may be told something, and is then what its
// answers have made of it: it is not forgotten before it listens no more.
func TestAClientThatStillListensIsNotForgotten(t *testing.T) {
	locktest.Long(t, "it walks a graph twice")
	t.Parallel()
	walk := sameGraph(t, lingering, Bounds{Programs: []Program{Wait}})
	assert.NotZero(t, walk.Inferred)
}

func TestAClientThatIsDoneAndSendsOnIsNotForgotten(t *testing.T) {
	calm := func(env lock.Env) (lock.Lock, error) {
		return watchdog.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
	}
	sending := func(env lock.Env) (lock.Lock, error) {
		l, err := calm(env)
		return plainly{try: l.TryLock, release: func(ctx context.Context) error {
			err := l.Unlock(ctx)
			go func() {
				for lock.Sleep(ctx, lease) == nil {
					l.Unlock(ctx)
				}
			}()
			return err
		}}, err
	}
	for silent, build := range map[bool]lock.Build{true: calm, false: sending} {
		_, err := explore(t, build, Bounds{Clients: 1, Programs: []Program{Once}}, true,
			func(r *run) (Walk, error) {
				walk, err := search(r)
				assert.NotEmpty(t, r.finished)
				for m, finished := range r.finished {
					assert.Equal(t, silent, finished, m)
				}
				return walk, err
			})
		require.NoError(t, err)
	}
}

func TestEveryClockSaysTheSameInEveryRun(t *testing.T) {
	for _, servers := range []bool{true, false} {
		report := Run(t, byTheClock(servers), Bounds{Expiries: 1, Programs: []Program{Once}})
		f, found := report.Failure(TwoHolders)
		require.True(t, found, report)
		assert.Equal(t, 1, f.Adversary, f)
	}
}

// The clients of each run are processes of their own.
func TestNoTwoRunsHaveAProcessInCommon(t *testing.T) {
	Run(t, alone(true), Bounds{Expiries: 1, Crashes: 1, Programs: []Program{Once}})
}

func TestRandomTokensAreTheSameInEveryRun(t *testing.T) {
	locktest.Long(t, "it walks a graph twice")
	t.Parallel()
	bounds := Bounds{Expiries: 1, Programs: []Program{Once}}
	seeded := Run(t, locktest.Find(t, "diamond").Build, bounds).Walks[0]
	random := Run(t, func(env lock.Env) (lock.Lock, error) {
		return diamond.New(env.Nodes[0], env.Key, env.TTL)
	}, bounds).Walks[0]
	assert.Equal(t, seeded.States, random.States)
	assert.Equal(t, seeded.Schedules(), random.Schedules())
	assert.Equal(t, seeded.Found, random.Found)
}

// An inner Unlock that sends nothing is right as long as the servers have the grant.
func TestAnInnerUnlockMaySendNothing(t *testing.T) {
	build := counting(locktest.Find(t, "diamond").Build)
	bounds := Bounds{Programs: []Program{Nested}}
	_, found := Run(t, build, bounds).Failure(FalseSuccess)
	assert.False(t, found)
	assert.Contains(t, Replay(t, build, bounds, "nested: A> A< E A=").Broken, Breach{
		FalseSuccess, "A's inner Unlock returns nil, and the servers did not have its lock"})
}

// An owner that is done has left nothing behind while another owner of its process holds
// the lock. It has when the other one only waits, and when that is done as well.
func TestAGrantIsOrphanedWhenNoOwnerOfTheProcessWillFreeIt(t *testing.T) {
	goesAway := func(context.Context) error { return lock.ErrLost }
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	forgets := func(lock.Env) func(context.Context) error {
		return func(context.Context) error { return nil }
	}
	for what, test := range map[string]struct {
		build    lock.Build
		orphaned bool
	}{
		"a refused owner goes away":                         {leaseless(goesAway, deleting), false},
		"a refused owner waits":                             {leaseless(waits, deleting), false},
		"a refused owner goes away, and the holder forgets": {leaseless(goesAway, forgets), true},
		"a refused owner waits, and the holder forgets":     {leaseless(waits, forgets), true},
	} {
		report := Run(t, test.build, Bounds{Clients: 1, Owners: 2, Programs: []Program{Wait}})
		_, orphaned := report.Failure(Orphaned)
		assert.Equal(t, test.orphaned, orphaned, "%s: %s", what, report)
	}
}
