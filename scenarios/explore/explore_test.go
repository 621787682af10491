package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func buildGold(env lock.Env) (lock.Lock, error) {
	return gold.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
}

func TestAScheduleIsReadAsItIsWritten(t *testing.T) {
	program, often, actions, err := read("nested/2: A>1 A<3 B>2.2 A= A! A?1 B~ Ax" +
		" Az Aw E R")
	require.NoError(t, err)
	assert.Equal(t, Nested, program)
	assert.Equal(t, 2, often)
	assert.Equal(t, "A>1 A<3 B>2.2 A= A!1 A?1 B~1 Ax Az Aw E R", write(actions, 3))

	program, often, actions, err = read(" A> A<\n")
	require.NoError(t, err)
	assert.Equal(t, Once, program)
	assert.Zero(t, often)
	assert.Equal(t, "A> A<", write(actions, 1))
}

func TestAScheduleThatMakesNoSenseIsRefusedInOneLine(t *testing.T) {
	for _, bad := range []string{"A", "a>", "A>0", "A>.0", "A>x", "A>1.", "E1", ">A",
		"A>999", "often: A>", "once/0: A>", "once/x: A>", "", "once:"} {
		_, _, _, err := read(bad)
		require.Error(t, err, bad)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := replay(t, buildGold, Bounds{}, "A> A>")
	assert.ErrorContains(t, err, `"A>" is not possible after "A>"; possible are "A<`)
	// Of platinum, whose release has two commands.
	_, err = replay(t, buildGold, Bounds{}, "A> A< A= A= A> A< A>")
	assert.ErrorContains(t, err, `"A>" is not possible after "A> A< A= A= A> A<"`)
	_, err = replay(t, buildGold, Bounds{}, "A>2")
	require.ErrorContains(t, err, `"A>2" is not possible after ""`)
	assert.NotContains(t, err.Error(), "\n")
}

func TestAScheduleHasAsManyClientsAsItNames(t *testing.T) {
	replayed, err := replay(t, buildGold, Bounds{}, "C> C<")
	require.NoError(t, err)
	assert.Regexp(t, "C +TryLock returns true", replayed.Timeline)
	for schedule, clients := range map[string][2]int{"A> A<": {1, 2}, "C> C<": {3, 3}} {
		for i, bounds := range []Bounds{{}, {Clients: 2}} {
			handles := 0
			_, err := replay(t, func(env lock.Env) (lock.Lock, error) {
				if env.Key == key { // and not the one that warms up
					handles++
				}
				return buildGold(env)
			}, bounds, schedule)
			require.NoError(t, err)
			assert.Equal(t, clients[i], handles, "%s with %+v", schedule, bounds)
		}
	}
}

func TestAScheduleSaysHowOftenAClientAsks(t *testing.T) {
	f, found := Run(t, buildGold, Bounds{Attempts: 1,
		Programs: []Program{Nested}}).Failure(SelfDeadlock)
	require.True(t, found)
	assert.Equal(t, "nested/1: A> A< A> A<", f.Schedule)
	assert.Regexp(t, "A +gives up", Replay(t, buildGold, Bounds{}, f.Schedule).Timeline)
}

func TestBoundsThatMakeNoSenseAreRefusedInOneLine(t *testing.T) {
	for _, bad := range []Bounds{{Clients: -1}, {Clients: 27}, {Nodes: 27},
		{Expiries: -1}, {Programs: []Program{"thrice"}}} {
		_, err := explore(t, buildGold, bad, true, search)
		require.Error(t, err, "%+v", bad)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestOnlyWaitHasSeveralOwners(t *testing.T) {
	for _, programs := range [][]Program{nil, {Wait, Once}} {
		_, err := explore(t, buildGold, Bounds{Owners: 2, Programs: programs}, true,
			search)
		require.ErrorContains(t, err, `2 owners, and the program "once"`)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := replay(t, buildGold, Bounds{Owners: 2}, "once: A>")
	require.ErrorContains(t, err, `2 owners, and the program "once"`)
	_, err = replay(t, buildGold, Bounds{Owners: 2}, "wait: A>.2")
	require.NoError(t, err)
}

func TestALockThatCantBeBuiltIsAnError(t *testing.T) {
	_, err := explore(t, func(lock.Env) (lock.Lock, error) {
		return nil, errors.New("no licence")
	}, Bounds{}, true, search)
	assert.ErrorContains(t, err, "the lock can't be built: no licence")
	_, err = explore(t, nil, Bounds{}, true, search)
	assert.EqualError(t, err, "build is nil, it must make an owner of the lock")
	_, err = explore(t, func(lock.Env) (lock.Lock, error) { return nil, nil },
		Bounds{}, true, search)
	assert.EqualError(t, err, "the lock can't be built: build returns neither a lock"+
		" nor an error")
	_, err = explore(t, func(env lock.Env) (lock.Lock, error) {
		return buildGold(lock.Env{Nodes: env.Nodes[7:]})
	}, Bounds{}, true, search)
	require.ErrorContains(t, err, "build panicked in github.com/")
	assert.ErrorContains(t, err, ", at explore/explore_test.go:")
}

// Nothing is built before it is known that the graph can be kept.
func TestAGraphThatCantBeRecordedIsNotWalked(t *testing.T) {
	_, err := recorded(t, func(lock.Env) (lock.Lock, error) {
		return nil, errors.New("it is walked")
	}, Bounds{}, Record(filepath.Join(os.Args[0], "graphs")))
	assert.ErrorContains(t, err, "the graphs can't be recorded: ")
}

// Otherwise it would hold every invariant: there would be nothing to break one.
func TestALockThatIsNeverGrantedIsAnError(t *testing.T) {
	for _, program := range []Program{Once, Wait} {
		_, err := explore(t, sends(), Bounds{Programs: []Program{program}}, true, search)
		require.ErrorContains(t, err, "no client was granted the lock in any schedule of"+
			" the program "+string(program))
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := explore(t, queues(), Bounds{}, true, search)
	assert.ErrorContains(t, err, "the program once: A's TryLock returned false")
}

// prefixed is gold with a key of its own.
func prefixed(env lock.Env) (lock.Lock, error) {
	env.Key = "locks:" + env.Key
	return buildGold(env)
}

func TestALockWhoseKeyIsNotDeclaredIsAnError(t *testing.T) {
	_, err := explore(t, prefixed, Bounds{}, true, search)
	require.ErrorContains(t, err, `say which keys stand for the lock, with Bounds.Keys`)
	assert.ErrorContains(t, err, `(there are ["locks:lock:stock:warm:A"])`)
	assert.NotContains(t, err.Error(), "\n")
	_, err = explore(t, func(lock.Env) (lock.Lock, error) {
		return plainly{func(context.Context) (bool, error) { return true, nil }, nil}, nil
	}, Bounds{}, true, search)
	assert.ErrorContains(t, err, "the lock was granted, and no node has a key")
}

// twisted is gold with something before each TryLock.
func twisted(twist func(ctx context.Context, env lock.Env)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := buildGold(env)
		return plainly{func(ctx context.Context) (bool, error) {
			twist(ctx, env)
			return l.TryLock(ctx)
		}, l.Unlock}, err
	}
}

func TestALockThatPanicsIsAnError(t *testing.T) {
	for _, good := range []int64{0, 4, 10} {
		var calls atomic.Int64
		_, err := explore(t, twisted(func(context.Context, lock.Env) {
			if calls.Add(1) > good {
				panic("out of ideas")
			}
		}), Bounds{}, true, search)
		require.ErrorContains(t, err, "panicked in github.com/", good)
		assert.ErrorContains(t, err, ": out of ideas, at explore/explore_test.go:")
	}
}

func TestALockThatLeaksIsAnError(t *testing.T) {
	_, err := explore(t, twisted(func(context.Context, lock.Env) {
		go func() { select {} }()
	}), Bounds{Clients: 1, Programs: []Program{Once}}, true, search)
	assert.ErrorIs(t, err, order.ErrLeak)
	assert.NotContains(t, err.Error(), "\n")
}

func TestALockThatHoldsAMutexOverACommandIsAnError(t *testing.T) {
	locktest.Long(t, "such a lock is noticed after seconds of real time")
	t.Parallel()
	var mu sync.Mutex
	_, err := explore(t, twisted(func(ctx context.Context, env lock.Env) {
		mu.Lock()
		defer mu.Unlock()
		env.Nodes[0].Exists(ctx, env.Key)
	}), Bounds{Programs: []Program{Once}}, true, search)
	assert.ErrorIs(t, err, order.ErrStuck)
	assert.ErrorContains(t, err, "it holds a mutex while it waits")
	assert.NotContains(t, err.Error(), "\n")
}

func TestALockThatDoesNotDoTheSameThingTwiceIsAnError(t *testing.T) {
	_, err := explore(t, twisted(func(ctx context.Context, env lock.Env) {
		if rand.IntN(2) == 0 {
			env.Nodes[0].Ping(ctx) // the explorer doesn't see it
			env.Nodes[0].Exists(ctx, env.Key)
		}
	}), Bounds{Expiries: 1}, true, search)
	assert.ErrorIs(t, err, errDiverged)
	assert.ErrorContains(t, err, "in the schedule once: ")
}

// Every run begins later by the clock of the process, so a token from there is
// another one in every run.
func TestATokenFromTheClockIsAnError(t *testing.T) {
	var built int
	_, err := explore(t, func(env lock.Env) (lock.Lock, error) {
		if built++; built > 20_000 {
			return nil, errors.New("the walk goes on")
		}
		return diamond.New(env.Nodes[0], env.Key, env.TTL,
			lock.Tokens(func() string {
				return strconv.FormatInt(time.Now().UnixNano(), 10)
			}))
	}, Bounds{Expiries: 1, Programs: []Program{Once}, States: 1000}, true, search)
	require.ErrorIs(t, err, errDiverged)
	assert.ErrorContains(t, err, "take times that are sent from Env.Now")
	assert.NotContains(t, err.Error(), "\n")
}

func TestRandomTokensAreTheSameInEveryRun(t *testing.T) {
	locktest.Long(t, "it walks a graph twice")
	t.Parallel()
	bounds := Bounds{Expiries: 1, Programs: []Program{Once}}
	seeded := Run(t, func(env lock.Env) (lock.Lock, error) {
		return diamond.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
	}, bounds).Walks[0]
	random := Run(t, func(env lock.Env) (lock.Lock, error) {
		return diamond.New(env.Nodes[0], env.Key, env.TTL)
	}, bounds).Walks[0]
	assert.Equal(t, seeded.States, random.States)
	assert.Equal(t, seeded.Schedules(), random.Schedules())
	assert.Equal(t, seeded.Found, random.Found)
}

func TestAClientThatIsDoneAndSendsOnIsNotForgotten(t *testing.T) {
	calm := func(env lock.Env) (lock.Lock, error) {
		return watchdog.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
	}
	walk := func(build lock.Build) (finished map[moment]bool) {
		_, err := explore(t, build, Bounds{Clients: 1, Programs: []Program{Once}},
			true, func(r *run) (Walk, error) {
				finished = r.finished
				return search(r)
			})
		require.NoError(t, err)
		return finished
	}
	for m, finished := range walk(calm) {
		assert.True(t, finished, m)
	}
	sending := walk(func(env lock.Env) (lock.Lock, error) {
		l, err := calm(env)
		return plainly{l.TryLock, func(ctx context.Context) error {
			err := l.Unlock(ctx)
			go func() {
				for lock.Sleep(ctx, lease) == nil {
					l.Unlock(ctx)
				}
			}()
			return err
		}}, err
	})
	require.NotEmpty(t, sending)
	for m, finished := range sending {
		assert.False(t, finished, m)
	}
}

func TestALongWalkSaysHowFarItHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		var walked progress
		stop := walked.tell(10*time.Second, func(args ...any) {
			said = append(said, fmt.Sprint(args...))
		})
		time.Sleep(15 * time.Second)
		walked.begin(Once, 7)
		walked.states.Store(3)
		walked.runs.Store(2)
		time.Sleep(10 * time.Second)
		stop()
		assert.Equal(t, []string{"once: 3 states so far, of 7 at most, in 2 runs, after" +
			" 20s"}, said)
	})
}

func TestAWalkThatIsStoppedSaysSo(t *testing.T) {
	report := Run(t, buildGold, Bounds{Expiries: 1, States: 50,
		Programs: []Program{Once}})
	assert.False(t, report.Exhausted())
	assert.Contains(t, report.String(), "stopped at")
	assert.NotContains(t, report.String(), "exhausted")
}
