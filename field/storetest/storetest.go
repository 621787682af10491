// Package storetest has what the tests of the stores share.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
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
	all := make([]generated.Lock, len(locks))
	t.Run("locks", func(t *testing.T) {
		for i, l := range locks {
			all[i].Name = l.Name
			t.Run(l.Name, func(t *testing.T) {
				build := l.Build(t)
				scenarios.Work(t, build) // first: a worker needs no servers
				t.Parallel()
				pool := servers.Stores(4, func() (scenarios.RealServer, error) {
					return l.Start(t)
				})
				all[i] = generated.Did(l.Name, scenarios.Run(t, build,
					scenarios.OnServersOf(pool), scenarios.WithoutFeatures(l.Not...),
					scenarios.Flaws(l.Flaws...)))
			})
		}
	})
	// One that -run does not name did nothing.
	if !t.Failed() && slices.ContainsFunc(all, func(l generated.Lock) bool {
		return l.Verdicts != nil
	}) {
		generated.CompareResults(t, store, all...)
	}
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

// PerProcess opens what the owners in one of the scenarios' processes have in common,
// once for each process.
func PerProcess[T any](open func(lock.Env) (T, error)) func(lock.Env) (T, error) {
	var mu sync.Mutex
	opened := map[any]T{}
	return func(env lock.Env) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if one, is := opened[env.Process]; is {
			return one, nil
		}
		one, err := open(env)
		if err == nil {
			opened[env.Process] = one
		}
		return one, err
	}
}

// Packets are one direction of a connection, on which four bytes with a length stand
// before every payload.
type Packets struct {
	From   io.Reader
	Length func(head []byte) int
	Text   func(nth int, raw []byte) string // of the nth packet, counted from 0

	read int
}

// Next reads one packet.
func (p *Packets) Next() (raw []byte, text string, err error) {
	raw = make([]byte, 4)
	if _, err := io.ReadFull(p.From, raw); err != nil {
		return nil, "", err
	}
	raw = append(raw, make([]byte, p.Length(raw))...)
	if _, err := io.ReadFull(p.From, raw[4:]); err != nil {
		return nil, "", err
	}
	text = p.Text(p.read, raw)
	p.read++
	return raw, text, nil
}

// Addrs are where servers answer.
func Addrs(all []*servers.Server) (addrs []string) {
	for _, s := range all {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// LeaderDies kills the one of three servers that leads the others while locks are held,
// and says that these outlive it. Leads is the leader's place, or -1 while there is none
// that all follow. Owner makes an owner of a lock of a kind, with a client of its own.
//
// Most of the servers know of every lock, so who follows the leader knows it. A replica
// that follows later does not: see the test of MariaDB's.
func LeaderDies(ctx context.Context, t *testing.T, members []*servers.Server,
	leads func([]*servers.Server) int, owner func(kind string) scenarios.Lock,
	kinds ...string) {
	t.Helper()
	leader := -1
	wait := func(all []*servers.Server) {
		t.Helper()
		require.Eventually(t, func() bool {
			leader = leads(all)
			return leader >= 0
		}, time.Minute, 10*time.Millisecond, "they have a leader")
	}
	wait(members)
	holders, others := map[string]scenarios.Lock{}, map[string]scenarios.Lock{}
	for _, kind := range kinds {
		holders[kind], others[kind] = owner(kind), owner(kind)
		require.NoError(t, holders[kind].Lock(ctx))
	}
	members[leader].Kill()
	rest := slices.Delete(slices.Clone(members), leader, leader+1)
	wait(rest)
	for _, kind := range kinds {
		holder, other := holders[kind], others[kind]
		granted, err := other.TryLock(ctx)
		for err != nil && ctx.Err() == nil { // the first request may go to the dead
			granted, err = other.TryLock(ctx)
		}
		require.NoError(t, err, kind)
		assert.False(t, granted, "two hold %s now", kind)
		waited := make(chan error, 1)
		go func() { waited <- other.Lock(ctx) }()
		require.NoError(t, holder.Unlock(ctx), "the session of %s lives on", kind)
		require.NoError(t, <-waited, kind)
		if fenced, ok := other.(scenarios.Fenced); ok {
			assert.Greater(t, fenced.Token(), holder.(scenarios.Fenced).Token(), kind)
		}
		require.NoError(t, other.Unlock(ctx), kind)
	}

	// The price: a server that is alone grants nothing.
	rest[0].Kill()
	for _, kind := range kinds {
		short, end := context.WithTimeout(ctx, time.Second)
		granted, err := holders[kind].TryLock(short)
		end()
		assert.Error(t, err, kind)
		assert.False(t, granted, kind)
	}
}
