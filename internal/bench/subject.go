// Package bench measures locks with the inventory decrement: many clients share a stock, and each
// of them once acquires the lock, reads the stock, takes one if there is any, and releases. It
// measures whatever it is given: the rungs, the baselines that it brings along, and anybody's lock.
package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Kind says what a row is about.
type Kind string

// The kinds of rows.
const (
	Rung        Kind = "rung"        // a lock of the ladder
	Baseline    Kind = "baseline"    // something to compare locks with
	Alternative Kind = "alternative" // a lock of somebody else
)

// Subject is what one row measures.
type Subject struct {
	Name string // different from all others; users type it
	Kind Kind

	// Nodes is how many independent Redis servers the lock is meant for. A run that has fewer
	// measures it on those, and the row says so. 0 is for a lock that lives elsewhere: Build
	// then gets no nodes, and what the lock sends is not counted.
	Nodes int

	// Unfit says why the row can't be measured with the settings of a run, "" when it can.
	Unfit string

	// Note is a line below the row, "" for none.
	Note string

	// OnlyReal says that the embedded servers lack what the lock needs.
	OnlyReal bool

	// Build makes one owner of the lock.
	Build lock.Build

	// Share makes what the owners in one process have in common, until end; it replaces Build
	// where a lock has such a thing. ctx ends with the run, and bounds the making only.
	Share func(ctx context.Context) (build lock.Build, end func(), err error)

	// start prepares a round of a baseline; it replaces Build.
	start    func(s *round) (turnOf, error)
	unlocked bool // no client is ever inside a critical section

	// Open makes such a stock; it replaces Build where there is no lock.
	Open func(ctx context.Context, stock int) (Stock, error)

	// Sell lets the clients live in a program of their own, which sells the stock
	// by itself; it replaces Build. The program's commands are not counted.
	Sell func(ctx context.Context, a Assignment) (Counts, error)

	// MostSections is how many sections an assignment may have.
	MostSections int

	// Missing says which program the row needs that this machine has not; nil
	// when there is none. A nil Missing needs none.
	Missing func() error

	// Lease is the lease that the lock makes of the one that was asked for; nil
	// when that is the same.
	Lease func(asked time.Duration) time.Duration

	// Poll is the longest pause of a refused client when the run sets none; 0 is for [wukong]'s.
	Poll time.Duration
}

// Assignment is what a program sells by itself: behind the lock of Env, on whose first
// node the stock is.
type Assignment struct {
	lock.Env
	protocol.Workload
}

// Stock is a stock in another store than Redis that is sold without a lock: a
// client says what it has read, and is refused when that is no longer so.
type Stock struct {
	// Take makes one attempt. It is accepted when the stock had not changed
	// since it was read, and has taken one if there was any. After an error one
	// may be taken, or not. Many clients call it at once.
	Take func(ctx context.Context) (accepted, taken bool, err error)

	// Left is what is left of the stock.
	Left func(ctx context.Context) (int64, error)

	// Close ends what was made for the stock.
	Close func()
}

// Rungs are the locks of the ladder, in its order.
func Rungs() []Subject {
	var all []Subject
	for _, rung := range ladder.Rungs {
		all = append(all, Subject{Name: rung.Name, Kind: Rung, Nodes: rung.Nodes, Build: rung.Build})
	}
	return all
}

// Rung is the row's, without a name where it isn't the ladder's.
func (r Row) Rung() ladder.Rung {
	rung, _ := ladder.Find(r.Name())
	return rung
}

// Names are those of some subjects.
func Names(subjects []Subject) (names []string) {
	for _, subject := range subjects {
		names = append(names, subject.Name)
	}
	return names
}

// Select returns the subjects of these names, separated by commas, in the order
// in which they stand in subjects. Its error says which name is wrong, and which are near.
func Select(subjects []Subject, names string) (selected []Subject, err error) {
	valid, wanted := Names(subjects), strings.Split(names, ",")
	for i, name := range wanted {
		wanted[i] = strings.TrimSpace(name)
		if wanted[i] == "" {
			return nil, fmt.Errorf("%q: one of the names is empty", names)
		} else if !slices.Contains(valid, wanted[i]) {
			return nil, terminal.Unknown("row", wanted[i], valid)
		}
	}
	return slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool {
		return !slices.Contains(wanted, s.Name)
	}), nil
}
