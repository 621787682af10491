package explore

import (
	"context"
	"errors"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// reader takes a read lock, looks at the counter twice, and unlocks.
func (p *player) reader() {
	if !p.acquireRead() {
		return
	}
	p.read()
	p.read()
	p.releaseRead()
}

// downgrade counts one up as the writer and then looks at the counter as a reader,
// without anybody writing in between.
func (p *player) downgrade() {
	if !p.acquire() {
		return
	}
	value, version, ok := p.read()
	reads := ok && p.acquireRead()
	if ok {
		p.write(value+1, version)
	}
	p.release()
	if reads {
		p.read()
		p.releaseRead()
	}
}

// acquireRead is acquire for a reader.
func (p *player) acquireRead() bool {
	rw, ok := p.lock.(lock.ReadWrite)
	if !ok {
		p.run.world.Fail("the program %s needs a lock.ReadWrite", p.program)
		return false
	}
	for attempt := range p.run.bounds.Attempts {
		p.doing = "TryRLock"
		p.beginCall(lab.Acquire)
		granted, err := rw.TryRLock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		switch {
		case err != nil:
			p.note("TryRLock returns %v, %v", granted, reason(err))
			if errors.Is(err, lock.ErrLost) {
				return false
			}
		case granted:
			p.reading()
			return true
		default:
			p.note("TryRLock returns false")
			p.wasRefused()
			p.run.touched.reads |= allNodes | strayed
			if attempt+1 < p.run.bounds.Attempts {
				p.awaitChange()
			}
		}
	}
	p.run.gaveUp = true
	p.note("gives up")
	return false
}

// reading keeps the books after a read lock.
func (p *player) reading() {
	p.reads++
	if p.reads+p.depth == 1 {
		p.believeToRead()
	}
	p.run.touched.reads |= allNodes
	p.note("TryRLock returns true")
}

// believeToRead counts the player among the readers.
func (p *player) believeToRead() {
	var lost <-chan struct{}
	if l, ok := p.lock.(lock.LossNotifier); ok {
		lost = l.Lost()
	}
	p.run.touched.writes |= beliefs
	p.holding = p.EnterSharedAs(p.owner, lost)
}

// releaseRead read-unlocks, and once more when it is not known what the first time
// did.
func (p *player) releaseRead() {
	p.reads--
	if p.reads+p.depth == 0 {
		p.LeaveAs(p.owner)
	}
	p.note("calls RUnlock")
	for range 2 {
		p.doing = "RUnlock"
		p.beginCall(lab.Release)
		err := p.lock.(lock.ReadWrite).RUnlock(context.Background())
		p.turn()
		p.Begin(lab.Renewal)
		p.note("RUnlock returns %s", reason(err))
		if err == nil || errors.Is(err, lock.ErrNotHeld) || p.reads > 0 {
			return
		}
	}
}
