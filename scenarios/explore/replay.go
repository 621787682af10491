package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/lock"
)

// Replayed is what one schedule did.
type Replayed struct {
	Timeline string   // with a mark under each line that broke something
	Broken   []Breach // in their order
}

// Replay takes one schedule, as a Failure has it: the program, a colon, and the
// actions, separated by spaces. Without a program it is the first one. It fails the
// test when an action is not possible where it stands. The bounds need to say no
// more than how many clients and nodes there are, and what Run must be told about
// the lock: a schedule is not held to a budget.
func Replay(t *testing.T, build lock.Build, bounds Bounds,
	schedule string) Replayed {
	t.Helper()
	var replayed Replayed
	err := inWorld(t, build, bounds, false, func(r *run) (err error) {
		replayed, err = r.replay(schedule)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return replayed
}

// read reads a schedule.
func read(schedule string) (Program, []action, error) {
	program := Once
	if name, rest, found := strings.Cut(schedule, ":"); found {
		program, schedule = Program(strings.TrimSpace(name)), rest
	}
	if !slices.Contains(Programs, program) {
		return "", nil, fmt.Errorf("there is no program %q, the programs are %s",
			program, Programs)
	}
	var actions []action
	for _, word := range strings.Fields(schedule) {
		a, err := parse(word)
		if err != nil {
			return "", nil, err
		}
		actions = append(actions, a)
	}
	return program, actions, nil
}

// replay takes a schedule and records it.
func (r *run) replay(schedule string) (Replayed, error) {
	program, actions, err := read(schedule)
	if err != nil {
		return Replayed{}, err
	}
	const enough = 1 << 20
	r.program, r.records = program, true
	r.bounds.Expiries, r.bounds.Timers, r.bounds.Crashes = enough, enough, enough
	r.bounds.LostReplies, r.bounds.Pauses = enough, enough
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
				" %q\n\n%s", a.write(r.bounds.Nodes),
				write(actions[:i], r.bounds.Nodes),
				write(r.enabled(), r.bounds.Nodes), r.world.Render(-1))
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
