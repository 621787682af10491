package explore

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestAScheduleIsReadAsItIsWritten(t *testing.T) {
	program, often, actions, err := read("nested/2: A>1 A<3 B>2.2 A= A! A?1 B~ Ax Az Aw E R")
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
	for schedule, want := range map[string]string{
		"A> A>": `"A>" is not possible after "A>"; possible are "A<`,
		// Of platinum, whose release has two commands.
		"A> A< A= A= A> A< A>": `"A>" is not possible after "A> A< A= A= A> A<"`,
		"A>2":                  `"A>2" is not possible after ""`,
	} {
		_, err := replay(t, buildGold, Bounds{}, schedule)
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestAScheduleHasAsManyClientsAsItNames(t *testing.T) {
	for schedule, clients := range map[string][2]int{"A> A<": {1, 2}, "C> C<": {3, 3}} {
		for i, bounds := range []Bounds{{}, {Clients: 2}} {
			handles := 0
			replayed := Replay(t, func(env lock.Env) (lock.Lock, error) {
				if env.Key == key { // and not the one that warms up
					handles++
				}
				return buildGold(env)
			}, bounds, schedule)
			assert.Equal(t, clients[i], handles, "%s with %+v", schedule, bounds)
			assert.Regexp(t, schedule[:1]+" +TryLock returns true", replayed.Timeline)
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

// refused is an error of the explorer that says so in one line.
func refused(t *testing.T, build lock.Build, bounds Bounds, want string) error {
	t.Helper()
	_, err := explore(t, build, bounds, true, search)
	require.ErrorContains(t, err, want)
	assert.NotContains(t, err.Error(), "\n")
	return err
}

func TestBoundsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, bad := range map[string]Bounds{
		"Clients is -1":                   {Clients: -1},
		"27 clients":                      {Clients: 27},
		"27 nodes":                        {Nodes: 27},
		"Expiries is -1":                  {Expiries: -1},
		`no program "thrice"`:             {Programs: []Program{"thrice"}},
		`2 owners, and the program "once`: {Owners: 2},
		`3 owners, and the program "once`: {Owners: 3, Programs: []Program{Wait, Once}},
	} {
		refused(t, buildGold, bad, want)
	}
	_, err := replay(t, buildGold, Bounds{Owners: 2}, "once: A>")
	require.ErrorContains(t, err, `2 owners, and the program "once"`)
	_, err = replay(t, buildGold, Bounds{Owners: 2}, "wait: A>.2")
	require.NoError(t, err)
}

// A lock that holds every invariant because nothing could break one is no finding.
func TestALockThatCantBeExploredIsRefused(t *testing.T) {
	sends := func(words ...any) lock.Build {
		return twisted(func(ctx context.Context, env lock.Env) {
			env.Nodes[0].Do(ctx, words...)
		})
	}
	panicsAfter := func(good int64) lock.Build {
		var calls atomic.Int64
		return twisted(func(context.Context, lock.Env) {
			if calls.Add(1) > good {
				panic("out of ideas")
			}
		})
	}
	never := trying(func(context.Context, lock.Env) (bool, error) { return false, nil })
	wait := Bounds{Programs: []Program{Wait}}
	const here = ", at explore/explore_test.go:"
	for name, c := range map[string]struct {
		build  lock.Build
		bounds Bounds
		want   string
	}{
		"it can't be built": {func(lock.Env) (lock.Lock, error) {
			return nil, errors.New("no licence")
		}, Bounds{}, "the lock can't be built: no licence"},
		"there is no build": {nil, Bounds{},
			"build is nil, it must make an owner of the lock"},
		"build returns nothing": {func(lock.Env) (lock.Lock, error) { return nil, nil },
			Bounds{}, "the lock can't be built: build returns neither a lock nor an error"},
		"build panics": {func(env lock.Env) (lock.Lock, error) {
			return buildGold(lock.Env{Nodes: env.Nodes[7:]})
		}, Bounds{}, here},
		"the first call panics":   {panicsAfter(0), Bounds{}, ": out of ideas" + here},
		"a call of a run panics":  {panicsAfter(4), Bounds{}, ": out of ideas" + here},
		"a later call panics":     {panicsAfter(10), Bounds{}, ": out of ideas" + here},
		"it is never granted":     {never, Bounds{}, "the program once: A's TryLock returned false"},
		"it never gets to a call": {handsOver(), wait, "keep something in a variable"},
		"it watches a key":        {sends("WATCH", "lock:stock"), Bounds{}, "WATCH"},
		"its key has another name": {func(env lock.Env) (lock.Lock, error) {
			env.Key = "locks:" + env.Key
			return buildGold(env)
		}, Bounds{}, `with Bounds.Keys (there are ["locks:lock:stock:warm:A"])`},
		"it has no key": {trying(func(context.Context, lock.Env) (bool, error) {
			return true, nil
		}), Bounds{}, "the lock was granted, and no node has a key"},
		"leases of fields":      {sends("HPEXPIRE", "h", 1, "FIELDS", 1, "A"), Bounds{}, "HPEXPIRE"},
		"what a server tells":   {sends("CLIENT", "TRACKING", "ON"), Bounds{}, "CLIENT TRACKING"},
		"waiting at the server": {sends("BLPOP", "lock:stock", 1), Bounds{}, "BLPOP"},
		"the same in a script": {sends("EVAL",
			"redis.call('HEXPIRE', 'h', 9, 'FIELDS', 1, 'A')", 0), Bounds{}, "HEXPIRE"},
		"it has no readers": {buildGold, Bounds{Programs: []Program{Read}},
			"the program read needs a lock.ReadWrite"},
		"it has nothing to downgrade to": {buildGold, Bounds{Programs: []Program{Downgrade}},
			"the program downgrade needs a lock.ReadWrite"},
		"a map outlives a run":           {alone(false), Bounds{}, "keep something in a variable"},
		"a map, and a lease ends":        {alone(false), Bounds{Expiries: 1}, "keep something in a"},
		"a map, a lease, and one client": {alone(false), Bounds{Clients: 1, Expiries: 1}, "keep something in a"},
		"a map, and one client dies":     {alone(false), Bounds{Clients: 1, Crashes: 1}, "keep something in a"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.build, c.bounds, c.want) })
	}
}

func TestALockThatHoldsAMutexOverACommandIsAnError(t *testing.T) {
	locktest.Long(t, "such a lock is noticed after seconds of real time")
	t.Parallel()
	var mu sync.Mutex
	assert.ErrorIs(t, refused(t, twisted(func(ctx context.Context, env lock.Env) {
		mu.Lock()
		defer mu.Unlock()
		env.Nodes[0].Exists(ctx, env.Key)
	}), Bounds{Programs: []Program{Once}}, "it holds a mutex while it waits"), order.ErrStuck)
}

func TestALockThatDoesNotDoTheSameThingTwiceIsAnError(t *testing.T) {
	assert.ErrorIs(t, refused(t, twisted(func(ctx context.Context, env lock.Env) {
		if rand.IntN(2) == 0 {
			env.Nodes[0].Ping(ctx) // the explorer doesn't see it
			env.Nodes[0].Exists(ctx, env.Key)
		}
	}), Bounds{Expiries: 1}, "in the schedule once: "), errDiverged)
}

// Every run begins later by the clock of the process, so a token from there is
// another one in every run.
func TestATokenFromTheClockIsAnError(t *testing.T) {
	var built int
	assert.ErrorIs(t, refused(t, func(env lock.Env) (lock.Lock, error) {
		if built++; built > 20_000 {
			return nil, errors.New("the walk goes on")
		}
		return diamond.New(env.Nodes[0], env.Key, env.TTL, lock.Tokens(func() string {
			return strconv.FormatInt(time.Now().UnixNano(), 10)
		}))
	}, Bounds{Expiries: 1, Programs: []Program{Once}, States: 1000},
		"take times that are sent from Env.Now"), errDiverged)
}

// Nothing is built before it is known that the graph can be kept.
func TestAGraphThatCantBeRecordedIsNotWalked(t *testing.T) {
	_, err := recorded(t, func(lock.Env) (lock.Lock, error) {
		return nil, errors.New("it is walked")
	}, Bounds{}, Record(filepath.Join(os.Args[0], "graphs")))
	assert.ErrorContains(t, err, "the graphs can't be recorded: ")
}

func TestAWalkThatIsStoppedSaysSo(t *testing.T) {
	report := Run(t, buildGold, Bounds{Expiries: 1, States: 50, Programs: []Program{Once}})
	assert.False(t, report.Exhausted())
	assert.Contains(t, report.String(), "stopped at")
	assert.NotContains(t, report.String(), "exhausted")
}
