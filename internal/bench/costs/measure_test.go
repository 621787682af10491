// These tests measure subjects in virtual time: the costs of a lock, apart from any
// machine. The servers are those of the scenarios' laboratory and answer at
// once; only the network takes time. The same code gives the same figures on
// every machine, to the digit.

package costs_test

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// rtt is the round-trip time of the network, half of it in either direction.
const rtt = 500 * time.Microsecond

// startsApart is the time between the starts of two clients. No multiple of it, for up
// to 249,999 clients, is a multiple of half a round trip: a client that starts
// would meet the messages of those that are under way at the same instant, and
// the scheduler would decide which goes first.
const startsApart = 1001 * time.Nanosecond

// measure lets the clients of one process take turns at a stock, in virtual
// time. settings changes what is measured; nil changes nothing.
func measure(t *testing.T, name string, clients int,
	settings func(*inventory.Settings)) bench.Row {
	t.Helper()
	return measureOver(t, subject(t, name), clients, 0, settings)
}

// measureOver is measure for clients that share so many connections; 0 is one
// for each.
func measureOver(t *testing.T, subject bench.Subject, clients, pool int,
	settings func(*inventory.Settings)) (row bench.Row) {
	t.Helper()
	if pool > 0 {
		// A client that waits for a connection takes a timer from a pool that the driver
		// has for the whole program, and one of another world is of no use in
		// this. Two collections empty it.
		runtime.GC()
		runtime.GC()
	}
	count := max(subject.Nodes, 1)
	var calls atomic.Int64
	err := lab.Run(t, lab.Config{
		Nodes: count,
		Key:   "lock",
		TTL:   inventory.DefaultTTL,
		Seen: func(_ int, _ *server.Peer, command string, _ []string) {
			if command != "HELLO" {
				calls.Add(1)
			}
		},
	}, func(w *lab.World) {
		process := w.Client("process")
		servers := nodes.Virtual(count, nodes.Config{
			Clients: clients,
			Pool:    pool,
			RTT:     rtt,
			Prefix:  "bench:",
		}, func(node int) (net.Conn, error) {
			return process.Dial(w.Node(node))
		}, calls.Load)
		defer servers.Close(context.Background())
		runner := &inventory.Runner{Servers: servers, Settings: inventory.Settings{
			Clients: clients,
			Stock:   clients, // so that no section is shorter than another
			TTL:     inventory.DefaultTTL,
			Poll:    lock.DefaultPoll,
			Timeout: time.Hour,
			Grace:   time.Hour,
			Apart:   startsApart,
			Seed:    1,
		}}
		if settings != nil {
			settings(&runner.Settings)
		}
		process.Go(func() {
			var err error
			if row, err = runner.Measure(context.Background(), subject); err != nil {
				w.Fail("measure: %w", err)
			}
		})
		w.Play()
	})
	require.NoError(t, err)
	return row
}
