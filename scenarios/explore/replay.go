package explore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/lock"
)

// Replayed is what one schedule did.
type Replayed struct {
	Timeline string   // with a mark under each line that broke something
	Broken   []Breach // in their order
}

// Replay takes one schedule, as a Failure has it: the program, how often clients ask if that is
// not as usual, a colon, and the actions, separated by spaces. Without a program it is the
// first one. It fails the test when an action is not possible where it stands. The bounds need
// to say no more than how many nodes there are, and what Run must be told about the lock: a
// schedule has as many clients as it names, unless the bounds have more, and is not held to a
// budget. A schedule with an R needs as many as Run had, because the timer may be any client's.
func Replay(t *testing.T, build lock.Build, bounds Bounds, schedule string) Replayed {
	t.Helper()
	replayed, err := replay(t, build, bounds, schedule)
	if err != nil {
		t.Fatal(err)
	}
	return replayed
}

// Check says what is wrong with how a schedule is written.
func Check(schedule string) error {
	_, _, _, err := read(schedule)
	return err
}

func replay(t *testing.T, build lock.Build, bounds Bounds, schedule string) (
	replayed Replayed, err error) {
	t.Helper()
	program, attempts, actions, err := read(schedule)
	if err != nil {
		return replayed, err
	}
	if attempts > 0 {
		bounds.Attempts = attempts
	}
	bounds.Programs = []Program{program}
	for _, a := range actions {
		bounds.Clients = max(bounds.Clients, int(a.client)+1)
	}
	if err := bounds.fill(); err != nil {
		return replayed, err
	}
	err = inWorld(t, build, bounds, false, func(r *run) (err error) {
		r.program = program
		replayed, err = r.replay(actions)
		return err
	})
	return replayed, err
}

// replay takes a schedule and records it.
func (r *run) replay(actions []action) (Replayed, error) {
	r.records = true
	for _, limit := range r.bounds.adversary() {
		*limit.n = 1 << 20 // more than a schedule has
	}
	// Strays that are not in the schedule never arrive.
	r.bounds.Strays = 0
	for _, a := range actions {
		if a.sign == stray {
			r.bounds.Strays++
		}
	}
	if err := r.begin(); err != nil {
		return Replayed{}, err
	}
	var replayed Replayed
	standing := map[Invariant]bool{}
	for i, a := range actions {
		if !slices.Contains(r.enabled(), a) {
			return replayed, fmt.Errorf("%q is not possible after %q; possible are"+
				" %q", a.write(max(r.bounds.Nodes, int(a.node)+1)),
				write(actions[:i], r.bounds.Nodes),
				write(r.enabled(), r.bounds.Nodes))
		}
		broken, err := r.take(a)
		if err != nil {
			return replayed, fmt.Errorf("%w: %s after %q", err,
				a.write(r.bounds.Nodes), write(actions[:i], r.bounds.Nodes))
		}
		replayed.Broken = append(replayed.Broken, broken...)
		now := map[Invariant]bool{}
		for _, b := range r.broken() {
			now[b.Invariant] = true
			if !standing[b.Invariant] {
				replayed.Broken = append(replayed.Broken, b)
				// The world itself has noted who entered.
				if b.Invariant != TwoHolders {
					r.breaks(b.Invariant, "%s", b.Event)
				}
			}
		}
		standing = now
	}
	var names []string
	for _, invariant := range Invariants {
		names = append(names, string(invariant))
	}
	replayed.Timeline = r.world.Render(-1, names...)
	return replayed, nil
}
