package lab

import (
	"slices"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// The parts of the packages below that a scenario sees.
type (
	Entry   = history.Entry   // one line of a timeline
	Break   = history.Break   // an invariant that was broken, and by what
	Holding = history.Holding // an owner that believes to hold the lock
	Storage = history.Storage // what the lock protects

	Fault = network.Fault // what happens to one command
	Call  = network.Call  // what a client is doing when it sends one

	// The servers that scenarios may be run on, see package node.
	Server    = node.Server
	OwnServer = node.OwnServer
	Store     = node.Store
	OwnStore  = node.OwnStore
	Frames    = node.Frames
)

// The calls of a lock. Outside of a call, the lock sends commands on its own
// account, which count as renewals.
const (
	Acquire = network.Acquire
	Release = network.Release
	Renewal = network.Renewal
)

// The invariants that are judged by the history alone.
const (
	TwoHolders     = history.TwoHolders
	ForeignRelease = history.ForeignRelease
	ForeignRenewal = history.ForeignRenewal
	LostUpdate     = history.LostUpdate
	StaleWrite     = history.StaleWrite
)

// How a client's newest grant has ended, see history.Ending.
const (
	Running = history.Running
	Expired = history.Expired
	CutOff  = history.CutOff
)

// Log is the history, for an order that must know it.
func (w *World) Log() *history.Log { return w.log }

// Names are how commands and replies are written.
func (w *World) Names() *history.Names { return w.names }

// Timeline is what was recorded.
func (w *World) Timeline() []*Entry { return w.log.Entries }

// Storage makes a storage with a first value.
func (w *World) Storage(value int) *Storage { return w.log.Storage(value) }

// Owner is the client that a majority of the nodes holds the lock for, or "-".
func (w *World) Owner() string { return w.log.Owner() }

// LeaseOver says whether no grant is left whose lease is still running.
func (w *World) LeaseOver() bool {
	for at, g := range w.log.Grants {
		if w.log.Reads(at) {
			return false
		}
		if w.nodes[at.Node].Observe(at.Key).Exists && !w.log.Over(g) {
			return false
		}
	}
	return true
}

// Report notes a break that a scenario's own assertion has found, at the newest
// entry.
func (w *World) Report(invariant, format string, args ...any) {
	w.log.Assert(invariant, format, args...)
}

// Broken are all breaks so far, in their order.
func (w *World) Broken() []*Break { return w.log.Breaks }

// Breaks are those of some invariants.
func (w *World) Breaks(invariants ...string) []*Break {
	var breaks []*Break
	for _, b := range w.Broken() {
		if slices.Contains(invariants, b.Invariant) {
			breaks = append(breaks, b)
		}
	}
	return breaks
}

// Render writes the timeline up to and including entry last (a negative one:
// all), and marks the breaks of the given invariants under the entries that show
// them.
func (w *World) Render(last int, invariants ...string) string {
	return w.log.Render(last, w.Breaks(invariants...))
}

// Unfired says whether a fate was decided for a command that was never sent,
// and that the scenario can't do without.
func (w *World) Unfired() bool {
	return slices.ContainsFunc(w.clients, (*Client).Unfired)
}
