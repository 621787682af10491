package zookeeper_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// timeout is the sessions'; the servers count it in ticks.
const timeout = 10 * tick

// people have a lock each, of one name.
func people(t *testing.T, kind string, server *servers.Server, n int,
	timeout time.Duration) (all []*person) {
	t.Helper()
	for range n {
		all = append(all, owner(t, kind, server, timeout))
	}
	return all
}

// watched waits until the server keeps so many watches, which means what why says.
func watched(t *testing.T, server *servers.Server, watches int, why string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Contains(says(server, "wchs"), fmt.Sprintf("Total watches:%d\n", watches))
	}, 10*time.Second, time.Millisecond, append([]any{why}, args...)...)
}

// queue lets a holder and so many waiters queue up, one after the other. served
// has the waiters' numbers as they get the lock.
func queue(t *testing.T, server *servers.Server, all []*person) (served chan int) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, all[0].Lock.Lock(ctx))
	served = make(chan int, len(all))
	for i, p := range all[1:] {
		go func() {
			if p.Lock.Lock(ctx) == nil {
				served <- i + 1
			}
		}()
		watched(t, server, i+1, "waiter %d waits", i+1)
	}
	return served
}

// A release of basic wakes everybody. One of sequential wakes the first in the queue,
// whose token is higher than the last.
func TestAReleaseWakesEverybodyOrOne(t *testing.T) {
	const waiters = 10
	for name, wakes := range map[string]int64{"basic": waiters, "sequential": 1} {
		t.Run(name, func(t *testing.T) {
			server := start(t) // a name belongs to one kind of lock
			all := people(t, name, server, waiters+1, timeout)
			served := queue(t, server, all)
			sum := func() (n int64) {
				for _, p := range all {
					n += p.woken.Load()
				}
				return n
			}
			require.Zero(t, sum())
			holder, tokens := 0, []uint64(nil)
			for i := range waiters {
				require.NoError(t, all[holder].Unlock(t.Context()))
				holder = <-served
				if i == 0 {
					watched(t, server, waiters-1, "each that was woken watches again, or holds")
					assert.Equal(t, wakes, sum(), "woken by one release")
				}
				if fenced, is := all[holder].Lock.(scenarios.Fenced); is {
					assert.Equal(t, i+1, holder, "in the order of arrival")
					tokens = append(tokens, fenced.Token())
				}
			}
			require.NoError(t, all[holder].Unlock(t.Context()))
			assert.True(t, slices.IsSorted(tokens), "%v", tokens)
		})
	}
}

// The process is gone, and says nothing: the servers end its session. They may
// do so before the time that it has asked for.
func TestTheLockOfAKilledClientComesFreeAndAHolderThatIsCutOffIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		kind    string
		timeout time.Duration
	}{
		"basic":                       {"basic", timeout},
		"sequential":                  {"sequential", timeout},
		"more than the servers grant": {"sequential", 100 * tick},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			all := people(t, c.kind, server, 2, c.timeout)
			served := queue(t, server, all)
			lost := all[0].Lock.(scenarios.LossNotifier).Lost()
			all[0].cutOff()
			<-served
			select {
			case <-lost: // by its own clock, for nobody can reach it
			default:
				t.Error("another one holds the lock, and it was not run")
			}
			assert.ErrorIs(t, all[0].Unlock(context.Background()), lock.ErrNotHeld)
			require.NoError(t, all[1].Unlock(t.Context()))
		})
	}
}

// A holds, B waits for A, and C for B. B gives up. C takes that for its turn
// with the recipe; with a lock that looks again, it waits on.
func TestTwoHoldWhenSomebodyInTheRecipesQueueGivesUp(t *testing.T) {
	for name, two := range map[string]bool{"recipe": true, "sequential": false} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			all := people(t, name, server, 3, timeout)
			served := queue(t, server, all)
			all[1].session.Close()
			if two {
				// To the recipe even the end of B's own session is B's turn.
				for <-served != 2 {
				}
				return // C has the lock, and A holds it still
			}
			watched(t, server, 1, "C watches A's node now")
			assert.Empty(t, served)
			require.NoError(t, all[0].Unlock(t.Context()))
			assert.Equal(t, 2, <-served)
		})
	}
}

func TestBadInputIsRefused(t *testing.T) {
	_, err := zookeeper.Open(nil, timeout, nil)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = zookeeper.Open([]string{"127.0.0.1:1"}, 0, nil)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	s, err := zookeeper.Open([]string{"127.0.0.1:1"}, timeout, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = zookeeper.NewSequential(nil, "x")
	assert.ErrorIs(t, err, lock.ErrInvalid)
	for _, name := range []string{"", "a/b", "..", "a\x00"} {
		_, err = zookeeper.NewBasic(s, name)
		assert.ErrorIs(t, err, lock.ErrInvalid)
	}
}
