// Package explore walks every schedule of a lock's real code, within bounds.
package explore

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lock"
)

// Invariant is something that no schedule may break.
type Invariant string

// The invariants.
const (
	Orphaned       Invariant = "orphaned"
	ForeignRelease           = Invariant(lab.ForeignRelease)
	ForeignRenewal           = Invariant(lab.ForeignRenewal)
	TwoHolders               = Invariant(lab.TwoHolders)
	LostUpdate               = Invariant(lab.LostUpdate)
	SelfDeadlock   Invariant = "self-deadlock"
	StaleWrite               = Invariant(lab.StaleWrite)
	ToldALie       Invariant = "told a lie"
)

// Invariants are all of them.
var Invariants = []Invariant{Orphaned, ForeignRelease, ForeignRenewal, TwoHolders,
	LostUpdate, SelfDeadlock, StaleWrite, ToldALie}

const (
	key   = "lock:stock"
	lease = 10 * time.Second
)

// Bounds say what is walked.
type Bounds struct {
	Clients     int
	Nodes       int
	Expiries    int
	Timers      int
	Crashes     int
	LostReplies int
	Strays      int
	Pauses      int
	Attempts    int
	Programs    []Program
	States      int
	LeaseEnd    func(value string) (time.Time, bool)
}

// Failure is a schedule that breaks an invariant.
type Failure struct {
	Program   Program
	Schedule  string
	Adversary int
	Steps     int
	Event     string
}

// Walk is what was found with one program.
type Walk struct {
	Program   Program
	Schedules *big.Int
	States    int
	Edges     int
	Runs      int
	Actions   int
	Inferred  int
	Stopped   bool
	GaveUp    bool
	Found     map[Invariant]Failure
}

// Report is what was found.
type Report struct {
	Bounds Bounds
	Walks  []Walk
}

// Run explores.
func Run(t *testing.T, build lock.Build, bounds Bounds) Report {
	t.Helper()
	report := Report{Bounds: bounds}
	var failed error
	err := lab.Run(t, lab.Config{Nodes: bounds.Nodes, Key: key, TTL: lease},
		func(w *lab.World) {
			r := &run{world: w, build: build, bounds: bounds, epoch: time.Now(),
				silence: map[moment]time.Duration{}, finished: map[moment]bool{}}
			for i := range bounds.Clients {
				r.clients = append(r.clients, w.Client(string(rune('A'+i))))
			}
			w.Steer()
			defer r.end()
			if failed = r.warm(); failed != nil {
				return
			}
			for _, program := range bounds.Programs {
				r.program = program
				walk, err := search(r)
				if err != nil {
					failed = err
					return
				}
				report.Walks = append(report.Walks, walk)
			}
		})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return report
}

var _ = fmt.Sprint

// warm lets every client take and release another lock, so that the nodes know
// the scripts.
func (r *run) warm() (err error) {
	r.world.Warm(func(c *lab.Client) {
		l, failed := r.build(c.Env(key + ":warm"))
		if failed != nil {
			err = fmt.Errorf("the lock can't be built: %w", failed)
			return
		}
		ctx := context.Background()
		for range 2 {
			l.TryLock(ctx)
		}
		c.Sleep(lease * 2 / 5)
		for range 2 {
			l.Unlock(ctx)
		}
	})
	return err
}
