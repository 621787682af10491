// Package lab is the laboratory of the scenarios: nodes and clients in one
// process, on a network that can fail in every way.
//
// World is what a scenario sees. It stands on four packages: order says who
// goes next, network takes bytes between clients and nodes, with faults, node is
// what a lock lives on, and history keeps what happened and what that breaks. Virtual time, real servers and the explorer's schedules are
// implementations of order.Order and node.Node; World chooses them once, in
// newWorld, and nobody asks later.
//
// Faults happen on the way between a client and a node, never inside a lock:
// commands are delayed, replies are lost, processes die or stop. The world knows
// by which client's command every lock key was set, and so whose grant it is.
package lab

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// World has the nodes, the clients and the history of one scenario. All of its
// methods belong to the function that Run calls.
type World struct {
	Config

	// Left are the Lasting keys at the end of the world, several leases after
	// the last client's death.
	Left []string

	// Lines has the world note which lines of a lock's code send commands, also
	// while nothing is recorded.
	Lines bool

	order   order.Order
	real    *order.Real // where time is real
	net     *network.Net
	log     *history.Log
	names   *history.Names
	boot    func(node int) node.Node
	nodes   []*Node
	clients []*Client

	running atomic.Int64 // scripts under way
	over    atomic.Bool  // the dead have had their time
	failing sync.Mutex
	errs    []error

	rehearsing bool

	ctx    context.Context
	cancel context.CancelFunc
}

func init() {
	// The faults of the scenarios are no news for the driver to print.
	logging.Disable()
}

// Run runs a scenario in a new world and takes the world down. The error is one
// line: order.ErrLeak, order.ErrStuck, or a panic inside the scenario.
func Run(t *testing.T, config Config, scenario func(*World)) error {
	t.Helper()
	w := newWorld(config)
	return w.order.Run(t, func() error { return w.live(scenario) })
}
