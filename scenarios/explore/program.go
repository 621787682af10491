package explore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/lock"
)

// Program is what client A does; the other clients lock once. With Wait all do the
// same.
type Program string

// The programs. Under the lock a client reads a counter in a storage that checks
// fencing tokens, and writes back one more.
const (
	Once   Program = "once"   // lock, read, write, unlock
	Twice  Program = "twice"  // the same again with the same handle
	Nested Program = "nested" // lock, lock again, read, unlock, write, unlock
	Wait   Program = "wait"   // Lock, which waits inside, then read, unlock

	// Read and Downgrade are for a lock.ReadWrite.
	Read      Program = "read"      // all but the last read-lock, read, read-unlock
	Downgrade Program = "downgrade" // lock, read-lock, write, unlock, read, read-unlock
)

// Programs are all programs, and what Bounds.Programs is by default but for the last
// three: not every lock waits for messages, or has readers.
var Programs = []Program{Once, Twice, Nested, Wait, Read, Downgrade}

// process is a client with its owners.
type process struct {
	*client
	players []*player
	refused bool // see asks

	history [sha256.Size]byte // stands for all that it was answered, and when
}

// player is an owner with its program. The program's goroutine runs only between
// something that the run lets arrive and the next thing that it waits for; so
// run and program take turns with these fields.
type player struct {
	*client        // its process's
	owner   string // its name
	process *process
	run     *run
	program Program

	lock    lock.Lock
	holding *lab.Holding
	depth   int
	reads   int // how often it is inside as a reader

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

// start begins the program.
func (p *player) start() {
	go func() {
		defer func() {
			if r := recover(); r != nil {
				p.run.world.Fail("%w", order.Panicked(p.owner, r))
			}
		}()
		switch p.program {
		case Twice:
			p.once()
			p.once()
		case Nested:
			p.nested()
		case Wait:
			p.waits()
		case Read:
			p.reader()
		case Downgrade:
			p.downgrade()
		default:
			p.once()
		}
		p.doing, p.done = "is done", true
		p.notice()
	}()
}

// once locks, counts one up in the storage, and unlocks.
func (p *player) once() {
	if !p.acquire() {
		return
	}
	if value, version, ok := p.read(); ok {
		p.write(value+1, version)
	}
	p.release()
}

// nested locks again while it holds the lock, as a function does that is called
// with and without it.
func (p *player) nested() {
	if !p.acquire() {
		return
	}
	if p.acquire() {
		value, version, ok := p.read()
		p.release()
		if ok {
			p.write(value+1, version)
		}
	}
	p.release()
}

// note records what the owner does or is told.
func (p *player) note(format string, args ...any) {
	p.run.world.Log().Note(p.owner, format, args...)
}

// waits locks with Lock, looks at the counter, and unlocks.
func (p *player) waits() {
	if !p.lockAndWait() {
		return
	}
	p.read()
	p.release()
}

// lockAndWait calls Lock, and again after an error of the network, for at most so
// many times as the bounds say.
func (p *player) lockAndWait() bool {
	for range p.run.bounds.Attempts {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p.doing, p.locking, p.giveUp = "Lock", true, cancel
		p.beginCall(lab.Acquire)
		err := p.lock.Lock(ctx)
		p.locking = false
		p.turn()
		p.Begin(lab.Renewal)
		if err == nil {
			p.granted("Lock returns nil")
			return true
		}
		p.note("Lock returns %s", reason(err))
		p.refusedBy("Lock", err)
		if ctx.Err() != nil || errors.Is(err, lock.ErrLost) {
			return false
		}
	}
	p.run.gaveUp = true
	p.note("gives up")
	return false
}

// acquire asks for the lock.
func (p *player) acquire() bool {
	return p.ask("TryLock", p.lock.TryLock, p.granted)
}

// ask calls until it is granted, for at most so many times as the bounds say. A
// refused client asks again when the lock has changed on some node: at once, if that
// has happened since the nodes refused.
func (p *player) ask(name string, try func(context.Context) (bool, error),
	grant func(how string)) bool {
	for attempt := range p.run.bounds.Attempts {
		p.doing = name
		p.beginCall(lab.Acquire)
		granted, err := try(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		switch {
		case err != nil:
			p.note("%s returns %v, %v", name, granted, reason(err))
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
			p.run.touched.reads |= allNodes | strayed
			if attempt+1 < p.run.bounds.Attempts {
				p.awaitChange()
			} else if name == "TryLock" && p.ownsLock() && !p.run.underWay(p) {
				p.run.breaks(SelfDeadlock, "%s is refused by its own grant",
					p.owner)
			}
		}
	}
	p.run.gaveUp = true
	p.note("gives up")
	return false
}

// refusedBy keeps what a call returned that did not grant the lock.
func (p *player) refusedBy(name string, err error) {
	f := &p.run.facts
	if f.refusal == "" && err == nil {
		f.refusal = fmt.Sprintf("%s's %s returned false", p.owner, name)
	} else if f.refusal == "" {
		f.refusal = fmt.Sprintf("%s's %s returned %v", p.owner, name, err)
	}
	if err == nil && p.commands.Load() == 0 && len(p.process.players) == 1 {
		p.run.hides("%s's %s returned false before %[1]s had sent anything", p.owner,
			name)
	}
}

// granted keeps the books after a grant.
func (p *player) granted(how string) {
	p.run.granted = p.run.granted || p.program == p.run.program
	p.depth++
	if p.depth == 1 {
		p.run.touched.writes |= beliefs
		p.holding = p.EnterAs(p.owner, p.lost())
	}
	p.run.touched.reads |= allNodes
	p.note("%s", how)
	if !p.ownsLock() {
		p.run.breaks(FalseSuccess, "%s's %s, and the servers do not have its grant",
			p.owner, how)
	}
}

// awaitChange waits until it is worth asking again.
func (p *player) awaitChange() {
	p.doing, p.waiting = "waits for the lock", true
	p.await()
}

// lost is closed when the lease is gone, if the lock tells that.
func (p *player) lost() <-chan struct{} {
	if l, ok := p.lock.(lock.LossNotifier); ok {
		return l.Lost()
	}
	return nil
}

// told says whether the lock has told that the lease is gone.
func (p *player) told() bool {
	select {
	case <-p.lost():
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
	if l, ok := p.lock.(lock.Fenced); ok && !p.holding.Shared {
		a.token = l.Token()
	}
	p.doing, p.access = doing, a
	p.notice()
	return p.await()
}

// release unlocks.
func (p *player) release() {
	p.depth--
	if p.depth == 0 {
		p.LeaveAs(p.owner)
		if p.reads > 0 {
			p.believeToRead()
		}
	}
	switch err := p.leave("Unlock", p.lock.Unlock, p.depth); {
	case err != nil:
	case len(p.process.players) > 1:
		// The effect of a call's commands is known only for the whole process.
	case p.depth > 0 && !p.keptOwn():
		p.run.breaks(FalseSuccess, "%s's inner Unlock returns nil, and the"+
			" servers did not have its grant", p.owner)
	case p.depth == 0 && !p.freedOwn():
		p.run.breaks(FalseSuccess, "%s's Unlock returns nil, and it freed no"+
			" grant of its own", p.owner)
	}
}

// keptOwn says whether the servers had the client's grant when its inner Unlock looked. A
// lock that counts its levels in the process sends nothing: what the servers have now
// counts then.
func (p *player) keptOwn() bool {
	if p.asked != 0 {
		return p.foundOwn()
	}
	p.run.touched.reads |= allNodes
	return p.ownsLock()
}

// leave calls a release, and once more when it is not known what the first time did.
// An inner call has left its level, whatever it returns.
func (p *player) leave(name string, unlock func(context.Context) error,
	levels int) (err error) {
	p.note("calls %s", name)
	for range 2 {
		p.doing = name
		p.beginCall(lab.Release)
		err = unlock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		p.note("%s returns %s", name, reason(err))
		if err == nil || errors.Is(err, lock.ErrNotHeld) || levels > 0 {
			break
		}
	}
	return err
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

// reason is an error in a word, the same in every run.
func reason(err error) string {
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, lock.ErrNotHeld):
		return "ErrNotHeld"
	case errors.Is(err, lock.ErrLost):
		return "ErrLost"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "a connection error"
}

// remember adds what an owner was just answered to its process's history.
func (p *player) remember(what string, now time.Duration) {
	if len(p.process.players) > 1 {
		what = p.owner + " " + what
	}
	p.process.remember(what, now)
}

// remember adds what the process was just answered to its history.
func (p *process) remember(what string, now time.Duration) {
	h := sha256.New()
	h.Write(p.history[:])
	fmt.Fprintf(h, "%d %s", now, what)
	h.Sum(p.history[:0])
}
