package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// Owners of another lock: its name is another, and what they do must change nothing for the
// scenario's lock.

// apart makes an owner of another lock, in the process of an actor.
func (s *S) apart(from *actor, name, key string) (*actor, error) {
	p := &part{client: from.process, Name: from.Name, process: from.process, owner: name,
		other: key, run: s, phase: from.phase + 3*time.Millisecond}
	p.writes, p.reads = &actor{part: p}, &actor{part: p, side: "R"}
	s.others = append(s.others, key)
	var err error
	p.writes.lock, err = p.writes.build(key)
	return p.writes, err
}

// call is how a timeline calls a method of the actor's lock.
func (p *part) call(method string) string {
	if p.owner != p.Name {
		method = p.owner + "'s " + method
	}
	if p.other == "" {
		return method
	}
	return fmt.Sprintf("%s of %q", method, p.other)
}

// elsewhere starts an owner of another lock in a story.
func (s *S) elsewhere(from *actor, o swarm.Owner, key string) {
	a, err := s.apart(from, o.Name, key)
	if err != nil {
		s.Fail("%w", err)
		return
	}
	a.Go(func() {
		for _, step := range o.Steps {
			if step.Verb == swarm.Write {
				a.Sleep(step.After)
				continue
			}
			a.performs(step, nil)
		}
	})
}

// callsAlone makes a step's call of a lock that nobody else asks for. It must be granted at
// once, by the server, and kept.
func (a *actor) callsAlone(ctx context.Context, step swarm.Step) {
	had, since := a.depth, a.grantedAt
	granted, err := false, error(nil)
	switch step.Verb {
	case swarm.TryLock:
		granted, err = a.tryWith(ctx)
	case swarm.Lock:
		err = a.acquireWith(ctx)
		granted = err == nil
	default:
		if had > 0 || step.Anyway {
			told := closed(a.lost())
			err = a.releaseWith(ctx)
			told = told && err == nil || errors.Is(err, lock.ErrNotHeld)
			a.Step("judged", func() { a.mustHaveLeft(step, had, since, told, err) })
		}
		return
	}
	a.Step("judged", func() { a.mustHaveEntered(step, had, granted, err) })
}

// mustHaveEntered judges a grant of a lock that nobody else asks for, and whose lease is twice as
// long as the scenario's: a process must not mix up the two.
func (a *actor) mustHaveEntered(step swarm.Step, had int, granted bool, err error) {
	s := a.run
	switch {
	case granted && had > 0 && !s.nests():
		a.depth = 1 // its lease was over
	case granted && had == 0 && s.settings.nodes == 1 && s.readable() && s.untroubled():
		has := s.Node(0).Observe(s.settings.keys(a.other)[0])
		left := time.Until(has.Ends)
		if !has.Exists {
			a.suspect(FalseSuccess, "%s is granted %q, which the server doesn't know", a.owner,
				a.other).Grant = true
		} else if !has.Ends.IsZero() && s.settings.leaseEnd == nil && (left-2*s.TTL).Abs() > s.TTL/5 {
			a.suspect(WrongLease, "%s has asked for a lease of %v of %q, and has %v", a.owner,
				2*s.TTL, a.other, left)
		}
	case !granted && had == 0 && !a.unsure && !limits(step) && s.healthy():
		a.suspect(Unavailable, "%s returns %s to %s, and nobody else asks for %q", step.Verb,
			outcomeOf(granted, err), a.owner, a.other)
	}
	a.unsure = a.unsure || err != nil // then it may have what it wasn't granted
}

// mustHaveLeft judges an Unlock of a lock that nobody else asks for: where it is renewed, the
// owner has it however long it has worked, and is told of no loss, even if another lock is lost.
func (a *actor) mustHaveLeft(step swarm.Step, had int, since time.Duration, lost bool, err error) {
	s := a.run
	fixed := s.settings.story.Fixed // then entering again doesn't move the end of the lease
	if had == 1 && lost && !a.unsure && !limits(step) && s.untroubled() &&
		(s.Now()-since < lease/2 && !(fixed && s.nests()) || s.offers(Renewal) && !fixed) {
		a.suspect(FalseLoss, "%s has lost %q, which nobody else asks for", a.owner, a.other)
	}
	a.unsure = a.unsure || err != nil && !errors.Is(err, lock.ErrNotHeld)
}

// limits says whether a step's context may end before the call.
func limits(step swarm.Step) bool { return step.Ended || step.Within > 0 }
