package scenarios

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// actor is a client that plays a part, with a handle of its own on the lock. Its verbs
// call one side of the lock: those of reads call the read side.
type actor struct {
	*part
	lock lock.Lock
	side string // what the names of its calls begin with: "R" of the read side

	depth     int           // how many acquisitions are nested
	grantedAt time.Duration // of the newest grant; 0: never
	heldSince time.Duration // the first of the acquisitions that are nested now
	refused   bool          // the newest Lock returned an error
	asking    bool          // it waits for an answer
	lockedAt  time.Duration // when Lock was called, while that waits; 0: it doesn't
	unsure    bool          // one failed after the newest grant: it may be what the servers have
	fence     uint64        // the token of the newest grant

	left <-chan struct{} // Lost of the newest grant that was released
}

// part is what both sides of an actor's lock have in common.
type part struct {
	client
	Name          string // the process's
	process       *lab.Client
	owner         string // its name, the process's but where several owners share one
	other         string // its lock's name, where that isn't the scenario's
	run           *S
	phase         time.Duration
	writes, reads *actor // one for each side of the lock
	apart         bool   // it lives in a worker
	calling       bool   // it takes a step of a story
	failed        bool   // one of its calls has failed, of either side

	holding *lab.Holding
	triedAt time.Duration // when the newest TryLock returned; 0: never
	freedAt time.Duration // when the newest Unlock was called; 0: never
	freed   bool          // it has returned

	acquires int // how many commands an acquire takes when nothing fails
	releases int // and a release
	grants   int // which command of an acquire is the first to change the lock
	frees    int // and which of a release
	renews   int // and which of those on its own account, the first renewal's
}

// client is what a script may ask of an actor's process, see lab.Client.
type client interface {
	Step(what string, do func())
	Note(format string, args ...any)
	Sleep(d time.Duration)
	Until(event func() bool, patience time.Duration)
	Go(script func())
	Quit()

	Fault(call lab.Call, nth int, f lab.Fault)
	Always(f lab.Fault)
	Hold(from, to time.Duration, event func() bool)
	Stop(from, to time.Duration, event func() bool)
	Crash()

	Begin(call lab.Call)
	Sent(call lab.Call) int
	Decided(call lab.Call) int
}

// actor makes a client. Actors act at different phases of a tenth of a second:
// ties decide nothing.
func (s *S) actor(name string) *actor {
	a := s.owner(s.Client(name), name)
	if name == s.settings.reader {
		return a.reads
	}
	return a
}

func (s *S) owner(of *lab.Client, name string) *actor {
	p := &part{client: of, Name: of.Name, process: of, owner: name, run: s,
		phase: time.Duration(len(s.actors)+1) * 7 * time.Millisecond}
	p.writes, p.reads = &actor{part: p}, &actor{part: p, side: "R"}
	p.reads.lock = readSide{p}
	s.actors = append(s.actors, p.writes)
	return p.writes
}

// beside makes an actor that lives in the process of another one and uses its
// client: another owner.
func (s *S) beside(a *actor, name string) *actor {
	return s.owner(a.process, name)
}

// mortal makes an actor whose process the scenario will kill or stop. On real
// servers it is a process of its own.
func (s *S) mortal(name string) *actor {
	a := s.actor(name)
	a.apart = !s.Exact()
	return a
}

// cast makes several actors.
func (s *S) cast(names ...string) []*actor {
	var cast []*actor
	for _, name := range names {
		cast = append(cast, s.actor(name))
	}
	return cast
}

// operator gives the nodes a script, for the events that no client causes.
func (s *S) operator(script func(o *actor)) {
	o := &actor{part: &part{client: s.Client("~"), run: s}}
	s.operate = func() { o.Go(func() { script(o) }) }
}

// operates has an operator do one thing at a moment. The result is whether it is done, for Until.
func (s *S) operates(what string, do func(), moment time.Duration,
	events ...func() bool) (done func() bool) {
	happened := false
	s.operator(func(o *actor) {
		o.at(moment, events...)
		o.Step(what, func() {
			do()
			happened = true
		})
	})
	return func() bool { return happened }
}

// at lets time pass until a moment of the scenario, in the actor's phase. Where a
// machine may be late, it also waits for the events that the moment stands for.
func (a *actor) at(moment time.Duration, events ...func() bool) {
	until := moment + a.phase
	if a.depth > 0 {
		until = a.heldSince + a.longer(until-a.heldSince)
	}
	if left := until - a.run.Now(); left > 0 {
		a.Sleep(left)
	}
	for _, event := range events {
		a.Until(event, lease)
	}
}

// work lets time pass in the critical section.
func (a *actor) work(d time.Duration) { a.Sleep(a.longer(d)) }

// longer is how long work takes, where a change makes it longer than it is written.
func (a *actor) longer(d time.Duration) time.Duration {
	return time.Duration(float64(d) * a.run.settings.change.work())
}

// outcome is a call's error in one word, the same in every run.
func outcome(err error) string { return protocol.ErrorName(err) }

// try calls TryLock.
func (a *actor) try() (granted bool, err error) {
	granted, err = a.tryWith(a.run.Context())
	if a.asksAgain(err) {
		granted, err = a.tryWith(a.run.Context())
	}
	return granted, err
}

func (a *actor) tryWith(ctx context.Context) (granted bool, err error) {
	name := a.call("Try" + a.side + "Lock")
	a.Step(name, func() { a.Begin(lab.Acquire) })
	granted, err = a.lock.TryLock(ctx)
	a.Step(name+" returns", func() {
		a.triedAt = a.run.Now()
		a.granted(granted && err == nil)
		if err != nil {
			a.Note("%s returns %v, %s", name, granted, outcome(err))
		} else {
			a.Note("%s returns %v", name, granted)
		}
		if granted && err == nil {
			a.doubtGrant("TryLock returns true")
		}
	})
	return granted, err
}

// mostOld is how many old connections to a node an actor may have: as many calls may
// fail after the node's restart.
const mostOld = 100

// tryAgain calls TryLock until the nodes have executed it and it has met no old
// connection, for a second at most: a restart leaves the driver with as many of those as
// the lock has used at once. It says whether it came to that, or the lock was granted.
func (a *actor) tryAgain(nodes ...int) (granted, answered bool) {
	began := a.run.Now()
	for range mostOld {
		var err error
		before, from := a.process.Broken(), len(a.run.Timeline())
		granted, err = a.try()
		reached := !a.run.readable() && err == nil || !slices.ContainsFunc(nodes,
			func(node int) bool { return !a.hasAsked(node, from) })
		answered = granted || reached && a.process.Broken() == before
		if answered || a.run.Now()-began >= second {
			break
		}
	}
	return granted, answered
}

// hasAsked says whether a node has executed, since an entry of the timeline, what the
// actor's attempt on the lock begins with. A lock whose request could not be sent to the
// node may still tell it to forget the request.
func (a *actor) hasAsked(node, since int) bool {
	begins := ""
	for _, e := range a.run.Timeline()[since:] {
		if e.Client != a.Name || !a.run.names(e.Command) {
			continue
		}
		word, _, _ := strings.Cut(e.Command, " ")
		if begins == "" {
			begins = word
		}
		if e.Node == node {
			return word == begins
		}
	}
	return false
}

// names says whether a command names the lock.
func (s *S) names(command string) bool {
	return command != "" && slices.ContainsFunc(append(s.Keys, s.Key),
		func(key string) bool { return strings.Contains(command, key) })
}

// acquire calls Lock and waits at most so long. When the client asks again, its own grant
// may be in its way until the lease ends.
func (a *actor) acquire(patience time.Duration) error {
	ctx, cancel := a.within(patience)
	defer cancel()
	err := a.acquireWith(ctx)
	if a.asksAgain(err) {
		ctx, cancel := a.within(patience + a.run.lease())
		defer cancel()
		err = a.acquireWith(ctx)
	}
	return err
}

// asksAgain says whether the client asks once more after an acquire that a change's
// fault befell: the error doesn't say whether the lock was granted.
func (a *actor) asksAgain(err error) bool {
	if !a.run.settings.change.asksAgain(a.Name) ||
		!slices.Contains([]string{"error", "deadline exceeded"}, outcome(err)) {
		return false
	}
	a.Step(AsksAgain, func() { a.Note(AsksAgain) })
	return true
}

func (a *actor) acquireWith(ctx context.Context) error {
	name := a.call(a.side + "Lock")
	a.Step(name, func() { a.Begin(lab.Acquire) })
	err := a.lock.Lock(ctx)
	a.Step(name+" returns", func() {
		a.granted(err == nil)
		a.refused = err != nil
		a.Note("%s returns %s", name, outcome(err))
		if err == nil {
			a.doubtGrant("Lock returns ok")
		}
	})
	return err
}

// within is a context that ends after some of the scenario's time.
func (a *actor) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.run.Context(), a.run.Lasts(d))
}

// has says whether the actor was granted the lock, for Until.
func (a *actor) has() bool { return a.grantedAt > 0 }

// passes calls Lock and, if it gets the lock, gives it back at once.
func (a *actor) passes(patience time.Duration) (granted bool) {
	if a.acquire(patience) != nil {
		return false
	}
	a.release()
	return true
}

// comes is a script: passes, from a moment on.
func (a *actor) comes(moment, patience time.Duration, events ...func() bool) func() {
	return func() {
		a.at(moment, events...)
		a.passes(patience)
	}
}

// takes is a script: the actor waits for the lock from a moment on, works until another
// one, and unlocks it, whether it got it or not.
func (a *actor) takes(moment, patience, until time.Duration, events ...func() bool) func() {
	return func() {
		a.at(moment, events...)
		a.acquire(patience)
		a.at(until)
		a.release()
	}
}

// waitsAndWorks is takes of an actor that works for some time.
func (a *actor) waitsAndWorks(moment, patience, works time.Duration) func() {
	return func() {
		a.at(moment)
		a.acquire(patience)
		a.work(works)
		a.release()
	}
}

// triesToPass is passes with TryLock.
func (a *actor) triesToPass() {
	if granted, _ := a.try(); granted {
		a.release()
	}
}

// released is whether the actor's newest Unlock has returned, for Until.
func (a *actor) released() bool { return a.freed }

// tried is whether a TryLock of the actor has returned, for Until.
func (a *actor) tried() bool { return a.triedAt > 0 }

// told is whether the holder was told that its lease is gone, for Until.
func (a *actor) told() bool { return a.holding.Told() }

// mustAcquire is acquire in scenarios that begin with it; anything but a grant is a failure.
func (a *actor) mustAcquire() {
	if err := a.acquire(lease); err != nil {
		a.run.Fail("%s's %sLock of a free lock fails: %w", a.Name, a.side, err)
		a.Quit()
	}
}

// begins is how most scenarios begin: the actor takes the lock when its time comes.
func (a *actor) begins() {
	a.at(0)
	a.mustAcquire()
}

// holds is a script: the actor takes the lock when its time comes, and unlocks it at a moment.
func (a *actor) holds(until time.Duration, events ...func() bool) func() {
	return func() {
		a.begins()
		a.at(until, events...)
		a.release()
	}
}

// granted keeps the books after an acquire. A reader that writes is one that writes.
func (a *actor) granted(ok bool) {
	a.Begin(lab.Renewal)
	if !ok {
		return
	}
	a.grantedAt = a.run.Now()
	a.depth++
	if a.depth > 1 || a.other != "" {
		return
	}
	a.heldSince = a.grantedAt
	if a == a.writes || a.writes.depth == 0 {
		a.enter()
	}
}

// enter has the owner believe that it holds this side of the lock.
func (a *actor) enter() {
	a.holding = a.process.EnterAs(a.owner, a == a.reads, a.lost())
}

// given keeps the books when a release is called. A writer may remain as a reader, if it
// was not told that it has lost both.
func (a *actor) given() {
	a.depth = max(a.depth-1, 0)
	if a.depth > 0 || a.writes.depth > 0 {
		return
	}
	a.process.LeaveAs(a.owner)
	if a == a.writes && a.reads.depth > 0 && !a.told() {
		a.reads.enter()
	}
}

// lost is the channel of the newest acquisition, nil when the lock offers none.
func (a *actor) lost() <-chan struct{} { return lab.Lost(a.writes.lock) }

// release calls Unlock. Where faults were added, a client may not have got what its
// script releases.
func (a *actor) release() error {
	if a.refused && a.depth == 0 && a.run.settings.change.faulty() {
		return lock.ErrNotHeld
	}
	return a.releaseWith(a.run.Context())
}

func (a *actor) releaseWith(ctx context.Context) error {
	name := a.call(a.side + "Unlock")
	var called call
	a.Step(name, func() {
		called = a.unlocks()
		a.Begin(lab.Release)
		a.freedAt, a.freed = a.run.Now(), false
		a.given()
	})
	err := a.lock.Unlock(ctx)
	a.Step(name+" returns", func() {
		a.freed = true
		a.Begin(lab.Renewal)
		a.Note("%s returns %s", name, outcome(err))
		a.doubtRelease(called, err)
	})
	return err
}

// token is the fencing token, 0 when the lock offers none.
func (a *actor) token() uint64 { return lab.Token(a.lock) }

// fenced says whether the lock offers fencing tokens.
func (a *actor) fenced() bool {
	_, ok := a.lock.(lock.Fenced)
	return ok
}

// awaitLoss waits until the lock tells that the lease is gone, at most until a
// moment of the scenario. It is 0 when nothing was told.
func (a *actor) awaitLoss(until time.Duration) (toldAt time.Duration) {
	lost := a.lost()
	timer := time.NewTimer(a.run.Lasts(until - a.run.Now()))
	defer timer.Stop()
	select {
	case <-lost:
		a.Step("Lost is closed", func() {
			toldAt = a.run.Now()
			a.Note("Lost is closed")
		})
	case <-timer.C:
		a.Step("is told nothing", func() { a.Note("is told nothing") })
	}
	return toldAt
}

// crash ends the actor's process.
func (a *actor) crash() {
	a.Step("dies", func() { a.Crash() })
	a.Quit()
}

// report notes a break at the newest line of the timeline.
func (a *actor) report(invariant, format string, args ...any) {
	a.Step("judged", func() { a.run.Report(invariant, format, args...) })
}
