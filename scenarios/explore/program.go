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
	"github.com/lockladder/lockladder/internal/lock"
)

// Program is what client A does; the other clients lock once.
type Program string

// The programs. Under the lock a client reads a counter in a storage that checks
// fencing tokens, and writes back one more.
const (
	Once   Program = "once"   // lock, read, write, unlock
	Twice  Program = "twice"  // the same again with the same handle
	Nested Program = "nested" // lock, lock again, read, unlock, write, unlock
)

// Programs are all programs.
var Programs = []Program{Once, Twice, Nested}

// player is a client with its program. The program's goroutine runs only between
// something that the run lets arrive and the next thing that it waits for; so
// run and program take turns with these fields.
type player struct {
	*lab.Client
	run     *run
	program Program

	lock    lock.Lock
	holding *lab.Holding
	depth   int

	doing   string            // what it waits for, for people
	history [sha256.Size]byte // of all that it was answered, and when
	access  *access           // its request that is under way to the storage
	turning atomic.Bool       // a call has returned, and it is to go on
	waiting bool              // refused, and waits for the lock to change
	wake    chan answer       // what the program waits on
	parked  *answer           // arrived while the process was stopped
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
				p.run.world.Fail("%s panicked: %v", p.Name, r)
			}
		}()
		switch p.program {
		case Twice:
			p.once()
			p.once()
		case Nested:
			p.nested()
		default:
			p.once()
		}
		p.doing, p.done = "is done", true
		p.Notice()
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

// acquire asks until it is granted, for at most so many times as the bounds say.
// A refused client asks again when the lock has changed on some node.
func (p *player) acquire() bool {
	for attempt := range p.run.bounds.Attempts {
		p.doing = "TryLock"
		p.BeginCall(lab.Acquire)
		granted, err := p.lock.TryLock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		switch {
		case err != nil:
			p.Note("TryLock returns %v, %v", granted, reason(err))
			if errors.Is(err, lock.ErrLost) {
				return false
			}
		case granted:
			p.granted()
			return true
		default:
			p.refused()
			p.run.touched.reads |= strayed
			if attempt+1 < p.run.bounds.Attempts {
				p.awaitChange()
			} else if p.Owns() && !p.run.underWay(p) {
				p.run.breaks(SelfDeadlock, "%s is refused by its own grant",
					p.Name)
			}
		}
	}
	p.run.gaveUp = true
	p.Note("gives up")
	return false
}

// granted keeps the books after a grant.
func (p *player) granted() {
	p.depth++
	if p.depth == 1 {
		var lost <-chan struct{}
		if l, ok := p.lock.(lock.Losable); ok {
			lost = l.Lost()
		}
		p.run.touched.writes |= beliefs
		p.holding = p.Enter(lost)
	}
	p.run.touched.reads |= allNodes
	p.Note("TryLock returns true")
	if !p.Owns() {
		p.run.breaks(ToldALie, "%s's TryLock returns true, and the servers do"+
			" not have its grant", p.Name)
	}
}

// refused keeps the books after a refusal. Whether the client asks again at once
// depends on what has happened to the nodes since they refused.
func (p *player) refused() {
	p.Note("TryLock returns false")
	p.Refused()
	p.run.touched.reads |= allNodes
}

// awaitChange waits until it is worth asking again.
func (p *player) awaitChange() {
	p.doing, p.waiting = "waits for the lock", true
	p.await()
}

// told says whether the lock has told that the lease is gone.
func (p *player) told() bool {
	l, ok := p.lock.(lock.Losable)
	if !ok {
		return false
	}
	select {
	case <-l.Lost():
		p.Note("finds Lost closed")
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
	if l, ok := p.lock.(lock.Fenced); ok {
		a.token = l.Token()
	}
	p.doing, p.access = doing, a
	p.Notice()
	return p.await()
}

// release unlocks, and once more when it is not known what the first time did.
func (p *player) release() {
	p.depth--
	if p.depth == 0 {
		p.Leave()
	}
	p.Note("calls Unlock")
	for range 2 {
		p.doing = "Unlock"
		p.BeginCall(lab.Release)
		err := p.lock.Unlock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		p.Note("Unlock returns %s", reason(err))
		switch {
		case err != nil:
		case p.depth > 0 && !p.FoundOwn():
			p.run.breaks(ToldALie, "%s's inner Unlock returns nil, and the"+
				" servers did not have its grant", p.Name)
		case p.depth == 0 && !p.FreedOwn():
			p.run.breaks(ToldALie, "%s's Unlock returns nil, and it freed no"+
				" grant of its own", p.Name)
		}
		if err == nil || errors.Is(err, lock.ErrNotHeld) {
			return
		}
	}
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
	p.Notice()
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
	}
	return "a connection error"
}

// remember adds what the client was just answered to its history.
func (p *player) remember(what string, now time.Duration) {
	h := sha256.New()
	h.Write(p.history[:])
	fmt.Fprintf(h, "%d %s", now, what)
	h.Sum(p.history[:0])
}
