package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/wrong/guard"
	"github.com/lockladder/lockladder/lock"
)

// Locks that keep something where the explorer might not look: on a connection,
// in a command's hidden words, in the server's clock. When two states that go on
// in different ways are taken for one, the search sees fewer schedules than there
// are, or a lock no longer does the same thing twice.

// plainly is a lock of two functions that send commands to one node.
type plainly struct {
	try     func(ctx context.Context) (bool, error)
	release func(ctx context.Context) error
}

func (l plainly) TryLock(ctx context.Context) (bool, error) { return l.try(ctx) }
func (l plainly) Lock(ctx context.Context) error            { return errors.ErrUnsupported }
func (l plainly) Unlock(ctx context.Context) error          { return l.release(ctx) }

// token is a new token of a client, such as "A#1".
func token(env lock.Env) string {
	o := &lock.Options{}
	for _, set := range env.Options {
		set(o)
	}
	return o.Token()
}

// deleting frees the lock whoever has it.
func deleting(env lock.Env) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		deleted, err := env.Nodes[0].Del(ctx, env.Key).Result()
		if err == nil && deleted == 0 {
			err = lock.ErrNotHeld
		}
		return err
	}
}

// watching sets without a script: WATCH and GET, then MULTI to EXEC.
func watching(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	return plainly{
		func(ctx context.Context) (granted bool, err error) {
			err = rdb.Watch(ctx, func(tx *redis.Tx) error {
				if !errors.Is(tx.Get(ctx, env.Key).Err(), redis.Nil) {
					return nil
				}
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
					return p.Set(ctx, env.Key, "locked", env.TTL).Err()
				})
				granted = err == nil
				return err
			}, env.Key)
			if errors.Is(err, redis.TxFailedErr) {
				err = nil
			}
			return granted, err
		},
		deleting(env),
	}, nil
}

// twoScripts asks with one script and sets with another; both have the same words
// and no name.
func twoScripts(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	ask := func(ctx context.Context, script string) (int64, error) {
		return rdb.Eval(ctx, script, []string{env.Key}, "locked").Int64()
	}
	return plainly{
		func(ctx context.Context) (bool, error) {
			taken, err := ask(ctx, `return redis.call('EXISTS', KEYS[1])`)
			if taken == 1 || err != nil {
				return false, err
			}
			set, err := ask(ctx, `return redis.call('SETNX', KEYS[1], ARGV[1])`)
			return set == 1, err
		},
		deleting(env),
	}, nil
}

// sends is a lock that sends commands one after the other and never locks.
func sends(commands ...func(ctx context.Context, env lock.Env,
	rdb redis.UniversalClient)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return plainly{func(ctx context.Context) (bool, error) {
			for _, command := range commands {
				command(ctx, env, env.Nodes[0])
			}
			return false, nil
		}, deleting(env)}, nil
	}
}

// queues has another word in the transaction each time.
func queues() lock.Build {
	transaction := func(value string) func(ctx context.Context, env lock.Env,
		rdb redis.UniversalClient) {
		return func(ctx context.Context, env lock.Env, rdb redis.UniversalClient) {
			rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				return p.SetXX(ctx, env.Key, value, env.TTL).Err()
			})
		}
	}
	return sends(transaction("1"), transaction("2"))
}

// subscribing has a Lock that listens to a channel until its subscription is confirmed,
// and asks then.
func subscribing(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	try := func(ctx context.Context) (bool, error) {
		return rdb.SetNX(ctx, env.Key, "locked", env.TTL).Result()
	}
	return locking{plainly{try, deleting(env)}, func(ctx context.Context) error {
		sub := rdb.Subscribe(ctx, env.Key+":released")
		_, err := sub.Receive(ctx)
		sub.Close()
		if err == nil {
			err = rdb.Get(ctx, env.Key).Err()
		}
		return err
	}}, nil
}

// alone keeps in one map which locks are held, for all clients of all runs.
func alone() lock.Build {
	var held sync.Map
	return func(env lock.Env) (lock.Lock, error) {
		l, err := buildGold(env)
		return plainly{func(ctx context.Context) (bool, error) {
			if _, is := held.LoadOrStore(env.Key, true); is {
				return false, nil
			}
			granted, err := l.TryLock(ctx)
			if !granted {
				held.Delete(env.Key)
			}
			return granted, err
		}, func(ctx context.Context) error {
			held.Delete(env.Key)
			return l.Unlock(ctx)
		}}, err
	}
}

// handsOver tells all waiters of a release by a channel, as if all clients were one
// process.
func handsOver() lock.Build {
	released := make(chan chan struct{}, 26)
	return func(env lock.Env) (lock.Lock, error) {
		release := deleting(env)
		return locking{plainly{func(ctx context.Context) (bool, error) {
			return env.Nodes[0].SetNX(ctx, env.Key, "locked", 0).Result()
		}, func(ctx context.Context) error {
			err := release(ctx)
			for len(released) > 0 {
				close(<-released)
			}
			return err
		}}, func(ctx context.Context) error {
			granted, err := env.Nodes[0].SetNX(ctx, env.Key, "locked", 0).Result()
			for ; !granted && err == nil; granted, err = env.Nodes[0].SetNX(ctx,
				env.Key, "locked", 0).Result() {
				wait := make(chan struct{})
				released <- wait
				select {
				case <-wait:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return err
		}}, nil
	}
}

func TestWhatOutlivesARunIsNamed(t *testing.T) {
	for what, test := range map[string]struct {
		build lock.Build
		bound Bounds
	}{
		"a map":                {alone(), Bounds{}},
		"a map, and a lease":   {alone(), Bounds{Expiries: 1}},
		"a map, one client":    {alone(), Bounds{Clients: 1, Expiries: 1}},
		"a map, and a crash":   {alone(), Bounds{Clients: 1, Crashes: 1}},
		"a channel of waiters": {handsOver(), Bounds{Programs: []Program{Wait}}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := explore(t, test.build, test.bound, true, search)
			require.ErrorContains(t, err, "keep something in a variable of its package")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// Each pair of schedules leads to two states that go on in different ways.
func TestNoTwoStatesThatGoOnDifferentlyAreTakenForOne(t *testing.T) {
	whole := " B> B< B> B< B> B< B> B< B> B< B= B= B> B<" // of watching
	for name, test := range map[string]struct {
		build lock.Build
		pair  [2]string
	}{
		"what a connection watches was touched, or not": {watching,
			[2]string{"A> A<" + whole + " A> A<", whole + " A> A< A> A<"}},
		"a dead client's script is one, or the other": {twoScripts,
			[2]string{"Ax", "A> A< Ax"}},
		"a dead client's transaction is one, or the other": {queues(),
			[2]string{"A> A< A> A< Ax",
				"A> A< A> A< A> A< A> A< A> A< Ax"}},
		"a dead client listens, or not": {subscribing,
			[2]string{"wait: A> Ax", "wait: A> A< A> Ax"}},
	} {
		t.Run(name, func(t *testing.T) {
			var keys [2]any
			for i, schedule := range test.pair {
				program, _, actions, err := read(schedule)
				require.NoError(t, err)
				bounds := Bounds{Crashes: 1}
				err = inWorld(t, test.build, bounds, true, func(r *run) error {
					r.program = program
					if err := r.begin(); err != nil {
						return err
					}
					for _, a := range actions {
						if _, err := r.take(a); err != nil {
							return fmt.Errorf("%w: %s of %s", err, a.write(1),
								write(r.enabled(), 1))
						}
					}
					keys[i] = r.key()
					return nil
				})
				require.NoError(t, err)
			}
			assert.NotEqual(t, keys[0], keys[1])
		})
	}
}

// A's lease is from the moment of its request, and its renewal from that of the grant: both
// timers would be due at 13.333 s. The first one comes first in each run, and then the
// other one does nothing.
func TestTimersThatWereSetAtTwoMomentsAreNotDueAtOne(t *testing.T) {
	program, _, actions, err := read("twice: A> A< A= A= A> B> B< B= R A< E A> A<")
	require.NoError(t, err)
	bounds := Bounds{Expiries: 1, Timers: 2}
	err = inWorld(t, guard.Build(guard.Mistakes{}), bounds, true, func(r *run) error {
		r.program = program
		for range 20 {
			if err := r.begin(); err != nil {
				return err
			}
			for _, a := range actions {
				if _, err := r.take(a); err != nil {
					return err
				}
			}
			_, err := r.take(action{sign: timer})
			assert.ErrorIs(t, err, errQuiet)
		}
		return nil
	})
	require.NoError(t, err)
}

// sometimesTransacting asks in a transaction every other time, from the first on: a
// script has another effect there than by itself.
func sometimesTransacting(env lock.Env) (lock.Lock, error) {
	rdb, asked := env.Nodes[0], 0
	const script = `return redis.call('SET', KEYS[1], '1', 'NX', 'PX', 10000) and 1 or 0`
	keys := []string{env.Key}
	return plainly{
		func(ctx context.Context) (bool, error) {
			if asked++; asked%2 == 0 {
				granted, err := rdb.Eval(ctx, script, keys).Int()
				return granted == 1, err
			}
			var granted *redis.Cmd
			_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				granted = p.Eval(ctx, script, keys)
				return nil
			})
			return err == nil && granted.Val() == int64(1), err
		},
		deleting(env),
	}, nil
}

func TestAScriptInATransactionIsNotRemembered(t *testing.T) {
	sameGraph(t, sometimesTransacting, Bounds{Attempts: 2, Programs: []Program{Once}})
}

// byTheClock ends its lease at a moment of the server's clock or of the client's
// own, and has another moment in its value.
func byTheClock(servers bool) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		rdb := env.Nodes[0]
		return plainly{
			func(ctx context.Context) (bool, error) {
				now := env.Now()
				if servers {
					var err error
					if now, err = rdb.Time(ctx).Result(); err != nil {
						return false, err
					}
				}
				err := rdb.Do(ctx, "SET", env.Key, now.UnixMilli(), "NX", "PXAT",
					now.Add(env.TTL).UnixMilli()).Err()
				if errors.Is(err, redis.Nil) {
					return false, nil
				}
				return err == nil, err
			},
			deleting(env),
		}, nil
	}
}

func TestEveryClockSaysTheSameInEveryRun(t *testing.T) {
	bounds := Bounds{Expiries: 1, Programs: []Program{Once}}
	for _, servers := range []bool{true, false} {
		report, err := explore(t, byTheClock(servers), bounds, true, search)
		require.NoError(t, err)
		f, found := report.Failure(TwoHolders)
		require.True(t, found, report)
		assert.Equal(t, 1, f.Adversary, f)
	}
}

func TestWhatTheExplorerDoesNotKnowIsRefusedInOneLine(t *testing.T) {
	for want, words := range map[string][]any{
		"HPEXPIRE":        {"HPEXPIRE", "lock:stock", 10000, "FIELDS", 1, "A"},
		"CLIENT TRACKING": {"CLIENT", "TRACKING", "ON"},
		"BLPOP":           {"BLPOP", "lock:stock", 1},
		"HEXPIRE":         {"EVAL", "redis.call('HEXPIRE', 'h', 9, 'FIELDS', 1, 'A')", 0},
	} {
		_, err := explore(t, twisted(func(ctx context.Context, env lock.Env) {
			env.Nodes[0].Do(ctx, words...)
		}), Bounds{}, true, search)
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "\n")
	}
}

// A lock without a read side has no such programs.
func TestAProgramForReadersNeedsALockWithReaders(t *testing.T) {
	for _, program := range []Program{Read, Downgrade} {
		_, err := explore(t, buildGold, Bounds{Programs: []Program{program}}, true,
			search)
		assert.ErrorContains(t, err, "the program "+string(program)+
			" needs a lock.ReadWrite")
	}
}

// sharing keeps in one map whether a process has the lock, which its owners share.
func sharing() lock.Build {
	var processes sync.Map
	return func(env lock.Env) (lock.Lock, error) {
		l, err := buildGold(env)
		inside, _ := processes.LoadOrStore([2]any{env.Process, env.Key}, new(atomic.Bool))
		held := inside.(*atomic.Bool)
		return plainly{func(ctx context.Context) (bool, error) {
			if held.Load() {
				return false, nil
			}
			granted, err := l.TryLock(ctx)
			held.Store(granted)
			return granted, err
		}, func(ctx context.Context) error {
			held.Store(false)
			return l.Unlock(ctx)
		}}, err
	}
}

// The clients of each run are processes of their own.
func TestNoTwoRunsHaveAProcessInCommon(t *testing.T) {
	_, err := explore(t, sharing(), Bounds{Expiries: 1, Crashes: 1,
		Programs: []Program{Once}}, true, search)
	require.NoError(t, err)
}
