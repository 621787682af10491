// Package storetest has what the tests of the stores share.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Lock is one of a store's locks in the scenarios.
type Lock struct {
	Name string

	// Build makes owners whose connections end with the test.
	Build func(t *testing.T) lock.Build

	// Start starts a server that ends with the test.
	Start func(t *testing.T) (scenarios.RealServer, error)

	// On is where the lock is instead; nil: on servers that are started.
	On scenarios.RealServers

	Flaws []scenarios.Flaw
	Not   []scenarios.Feature
}

// Main is what a TestMain calls whose tests start one kind of store. Where
// that is missing it says so, in one line, and the tests must skip what needs
// it; where stores are asked for, that line is a failure.
func Main(m *testing.M, missing error) {
	if missing != nil {
		if os.Getenv("LOCKLADDER_STORES") != "" {
			fmt.Fprintln(os.Stderr, "LOCKLADDER_STORES asks for stores:", missing)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "%v: the tests that need it are skipped\n", missing)
	}
	os.Exit(m.Run())
}

// Compare runs every lock through the scenarios, all at the same time, and holds what
// they did against docs/results. Missing says that the store is not installed.
func Compare(t *testing.T, missing error, store string, locks ...Lock) {
	if missing != nil {
		t.SkipNow() // the reason is said once, see Main
	}
	all := Scenarios(t, locks...)
	if !t.Failed() && slices.ContainsFunc(all, func(l generated.Lock) bool {
		return l.Verdicts != nil
	}) {
		generated.CompareResults(t, store, all...)
	}
}

// Scenarios are what the locks did; one that -run does not name did nothing.
func Scenarios(t *testing.T, locks ...Lock) []generated.Lock {
	all := make([]generated.Lock, len(locks))
	t.Run("locks", func(t *testing.T) {
		for i, l := range locks {
			all[i].Name = l.Name
			t.Run(l.Name, func(t *testing.T) {
				build := l.Build(t)
				scenarios.Work(t, build) // first: a worker needs no servers
				t.Parallel()
				pool := l.On
				if pool == nil {
					pool = servers.Stores(4, func() (scenarios.RealServer, error) {
						return l.Start(t)
					})
				}
				all[i] = generated.Did(l.Name, scenarios.Run(t, build,
					scenarios.OnServersOf(pool), scenarios.WithoutFeatures(l.Not...),
					scenarios.Flaws(l.Flaws...)))
			})
		}
	})
	return all
}

// Started skips a test whose store is not installed, fails one whose servers did not
// start, and else ends them with the test.
func Started(t *testing.T, err error, all ...*servers.Server) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		t.SkipNow() // the reason is said once, see Main
	}
	require.NoError(t, err)
	t.Cleanup(func() { servers.StopAll(all) })
}

// Server is a store's server in the scenarios. It asks for no password.
type Server struct{ *servers.Server }

// Auth is nobody.
func (Server) Auth() (user, password string) { return "", "" }

// OneLine says that an error is one line, which says all of this and no password.
func OneLine(t *testing.T, err error, says ...string) {
	t.Helper()
	require.Error(t, err)
	for _, text := range says {
		assert.ErrorContains(t, err, text)
	}
	assert.NotContains(t, err.Error(), "\n")
	assert.NotContains(t, err.Error(), "secret")
}

// Addrs are where servers answer.
func Addrs(all []*servers.Server) (addrs []string) {
	for _, s := range all {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// KillLeader ends the one of these servers that leads them, and returns the others
// once one of them leads. Leads is the leader's place, or -1 while there is none that
// all follow.
func KillLeader(t *testing.T, all []*servers.Server,
	leads func([]*servers.Server) int) (rest []*servers.Server) {
	t.Helper()
	leader := -1
	wait := func(all []*servers.Server) {
		t.Helper()
		require.Eventually(t, func() bool {
			leader = leads(all)
			return leader >= 0
		}, time.Minute, 10*time.Millisecond, "they have a leader")
	}
	wait(all)
	all[leader].Kill()
	rest = slices.Delete(slices.Clone(all), leader, leader+1)
	wait(rest)
	return rest
}

// Refused says that a lock is taken. The first request may go to a dead server.
func Refused(ctx context.Context, t *testing.T, l scenarios.Lock) {
	t.Helper()
	granted, err := l.TryLock(ctx)
	for err != nil && ctx.Err() == nil {
		granted, err = l.TryLock(ctx)
	}
	require.NoError(t, err)
	assert.False(t, granted, "two hold it now")
}
