package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// access is a request to the storage.
type access struct {
	write   bool
	holding *lab.Holding
	token   uint64
	value   int
	version int
}

// answer ends a program's waiting.
type answer struct {
	stop           bool // the run is over, or the client dead
	value, version int
	ok             bool
}

// player is an owner with its program. The program's goroutine runs only between
// something that the run lets arrive and the next thing that it waits for; so
// run and program take turns with these fields.
type player struct {
	*client        // its process's
	owner   string // its name
	run     *run
	program Program

	lock    lock.Lock
	other   lock.Lock // of the other name, with Names
	holding *lab.Holding
	depth   int
	token   uint64 // of its newest grant
	reads   int    // how often it is inside as a reader

	doing   string      // what it waits for, for people
	access  *access     // its request that is under way to the storage
	turning atomic.Bool // a call has returned, and it is to go on
	waiting bool        // refused, and waits for the lock to change
	locking bool        // it is inside Lock
	giveUp  func()      // ends the context of the Lock that it is inside
	gaveUp  bool        // that was called
	wake    chan answer // what the program waits on
	parked  *answer     // arrived while the process was stopped
	done    bool
}

// acquire asks for the lock.
func (p *player) acquire() bool {
	return p.ask("TryLock", p.lock.TryLock, p.granted)
}

// acquireRead is acquire for a reader.
func (p *player) acquireRead() bool {
	rw, ok := p.lock.(lock.ReadWrite)
	if !ok {
		p.run.world.Fail("the program %s needs a lock.ReadWrite", p.program)
		return false
	}
	return p.ask("TryRLock", rw.TryRLock, func(how string) {
		p.run.granted = p.run.granted || p.program == Read
		p.reads++
		if p.reads+p.depth == 1 {
			p.believeToRead()
		}
		p.note("%s", how)
	})
}

// ask calls until it is granted, for at most so many times as the bounds say. A
// refused client asks again when the lock has changed on some node: at once, if that
// has happened since the nodes refused.
func (p *player) ask(name string, try func(context.Context) (bool, error),
	grant func(how string)) bool {
	for attempt := range p.run.bounds.Attempts {
		granted, err := p.call(context.Background(), name, try)
		switch {
		case err != nil:
			p.note("%s returns %v, %v", name, granted, protocol.ErrorName(err))
			p.refusedBy(name, err)
			if errors.Is(err, lock.ErrLost) {
				return false
			}
		case granted:
			grant(name + " returns true")
			return true
		default:
			p.note("%s returns false", name)
			p.refusedBy(name, nil)
			p.wasRefused()
			if attempt+1 < p.run.bounds.Attempts {
				p.awaitChange()
			} else if name == "TryLock" && p.ownsLock() && !p.run.underWay(p.client) {
				p.run.breaks(SelfDeadlock, "%s is refused by its own lock", p.owner)
			}
		}
	}
	return p.gives()
}

// call makes a call that asks for the lock.
func (p *player) call(ctx context.Context, name string,
	try func(context.Context) (bool, error)) (granted bool, err error) {
	p.doing = name
	p.beginCall(lab.Acquire)
	granted, err = try(ctx)
	p.locking = false
	p.turn()
	p.Begin(lab.Renewal)
	return granted, err
}

// gives says that the client has asked as often as it may.
func (p *player) gives() bool {
	p.run.gaveUp = true
	p.note("gives up")
	return false
}

// lockAndWait calls Lock, and again after an error of the network, for at most so
// many times as the bounds say.
func (p *player) lockAndWait() bool {
	for range p.run.bounds.Attempts {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p.locking, p.giveUp = true, cancel
		_, err := p.call(ctx, "Lock", func(ctx context.Context) (bool, error) {
			return true, p.lock.Lock(ctx)
		})
		if err == nil {
			p.granted("Lock returns nil")
			return true
		}
		p.note("Lock returns %s", protocol.ErrorName(err))
		p.refusedBy("Lock", err)
		if ctx.Err() != nil || errors.Is(err, lock.ErrLost) {
			return false
		}
	}
	return p.gives()
}

// granted keeps the books after a grant.
func (p *player) granted(how string) {
	p.run.granted = p.run.granted || p.program == p.run.program
	p.depth++
	if p.depth == 1 {
		p.holding = p.EnterAs(p.owner, false, lab.Lost(p.lock))
		p.rises(how)
	}
	p.claims(how)
}

// rises judges the fencing token of a grant: an earlier one of the owner was lower.
func (p *player) rises(how string) {
	token := lab.Token(p.lock)
	if p.token > 0 && token <= p.token {
		p.run.breaks(FalseSuccess, "%s's %s, with the token %d after %d", p.owner, how, token, p.token)
	}
	p.token = token
}

// claims judges what granted the lock that the calls are about.
func (p *player) claims(how string) {
	p.note("%s", how)
	if !p.ownsLock() {
		p.run.breaks(FalseSuccess, "%s's %s, and the servers do not have its lock", p.owner, how)
	}
}

// underOther does something while the player has the lock of the other name as well.
func (p *player) underOther(do func()) {
	p.name = other
	if p.ask("TryLock", p.other.TryLock, p.claims) {
		p.name = key
		do()
		p.name = other
		p.frees(p.leave("Unlock", p.other.Unlock, 0))
	}
	p.name = key
}

// frees judges what the release of the lock returned that the calls are about.
func (p *player) frees(err error) {
	if err == nil && !p.freedOwn() {
		p.run.breaks(FalseSuccess, "%s's Unlock returns nil, and it freed no lock of its own", p.owner)
	}
}

// believeToRead counts the player among the readers.
func (p *player) believeToRead() {
	p.holding = p.EnterAs(p.owner, true, lab.Lost(p.lock))
}

// refusedBy keeps what a call returned that did not grant the lock.
func (p *player) refusedBy(name string, err error) {
	f := &p.run.facts
	if f.refusal == "" && err == nil {
		f.refusal = fmt.Sprintf("%s's %s returned false", p.owner, name)
	} else if f.refusal == "" {
		f.refusal = fmt.Sprintf("%s's %s returned %v", p.owner, name, err)
	}
	if err == nil && p.commands.Load() == 0 && len(p.players) == 1 {
		p.run.hides("%s's %s returned false before %[1]s had sent anything", p.owner, name)
	}
}

// awaitChange waits until it is worth asking again.
func (p *player) awaitChange() {
	p.doing, p.waiting = "waits for the lock", true
	p.await()
}

// told says whether the lock has told that the lease is gone.
func (p *player) told() bool {
	select {
	case <-lab.Lost(p.lock):
		p.note("finds Lost closed")
		return true
	default:
		return false
	}
}

// read asks the storage for the counter, unless the lease is known to be gone.
func (p *player) read() (value, version int, ok bool) {
	if p.told() {
		return 0, 0, false
	}
	a := p.request("reads", &access{})
	return a.value, a.version, a.ok
}

// write sends the counter to the storage, unless the lease is known to be gone.
func (p *player) write(value, version int) {
	if !p.told() {
		p.request("writes", &access{write: true, value: value, version: version})
	}
}

// request sends something to the storage and waits for the answer.
func (p *player) request(doing string, a *access) answer {
	a.holding = p.holding
	if !p.holding.Shared {
		a.token = lab.Token(p.lock)
	}
	p.doing, p.access = doing, a
	p.notice()
	return p.await()
}

// release unlocks, at times once too often.
func (p *player) release() {
	p.depth = max(p.depth-1, 0)
	if p.depth == 0 {
		p.LeaveAs(p.owner)
		if p.reads > 0 {
			p.believeToRead()
		}
	}
	switch err := p.leave("Unlock", p.lock.Unlock, p.depth); {
	case len(p.players) > 1:
		// The effect of a call's commands is known only for the whole process.
	case p.depth == 0:
		p.frees(err)
	case err == nil && !p.keptOwn():
		p.run.breaks(FalseSuccess, "%s's inner Unlock returns nil, and the"+
			" servers did not have its lock", p.owner)
	}
}

// releaseRead read-unlocks.
func (p *player) releaseRead() {
	p.reads--
	if p.reads+p.depth == 0 {
		p.LeaveAs(p.owner)
	}
	p.leave("RUnlock", p.lock.(lock.ReadWrite).RUnlock, p.reads)
}

// keptOwn says whether the servers had the client's grant when its inner Unlock looked. A lock
// that counts its levels in the process sends nothing: what the servers have now counts then.
func (p *player) keptOwn() bool {
	return p.asked != 0 && p.foundOwn() || p.asked == 0 && p.ownsLock()
}

// leave calls a release, and once more when it is not known what the first time did.
// An inner call has left its level, whatever it returns.
func (p *player) leave(name string, unlock func(context.Context) error, levels int) (err error) {
	p.note("calls %s", name)
	for range 2 {
		p.doing = name
		p.beginCall(lab.Release)
		err = unlock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		p.note("%s returns %s", name, protocol.ErrorName(err))
		if err == nil || errors.Is(err, lock.ErrNotHeld) || levels > 0 {
			break
		}
	}
	return err
}

// answer wakes the program with what the storage said.
func (p *player) answer(a answer) {
	p.remember(fmt.Sprintf("storage %v", a), p.run.world.Now())
	p.wake <- a
}

// await waits until the run says how it goes on.
func (p *player) await() answer {
	a := <-p.wake
	if a.stop {
		runtime.Goexit()
	}
	return a
}

// turn waits until all that happens at this moment has happened: a timer of the
// program's and one of the lock's may be due at the same time, and then the
// program goes on second. A stopped process does not go on at all.
func (p *player) turn() {
	p.turning.Store(true)
	p.notice()
	p.await()
}

// stop ends the player's program where it waits.
func (p *player) stop() {
	if p.giveUp != nil {
		p.giveUp()
	}
	select {
	case p.wake <- answer{stop: true}:
	default:
	}
}

// note records what the owner does or is told.
func (p *player) note(format string, args ...any) {
	p.run.world.Log().Note(p.owner, format, args...)
}

// remember adds what an owner was just answered to its process's history.
func (p *player) remember(what string, now time.Duration) {
	if len(p.players) > 1 {
		what = p.owner + " " + what
	}
	p.client.remember(what, now)
}
