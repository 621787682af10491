package explore

import (
	"github.com/lockladder/lockladder/internal/lab/order"
)

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
		case Names:
			p.names()
		case Extra:
			p.once()
			p.release()
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

// names locks another name while it holds the lock.
func (p *player) names() {
	if !p.acquire() {
		return
	}
	value, version, ok := 0, 0, false
	p.underOther(func() { value, version, ok = p.read() })
	if ok {
		p.write(value+1, version)
	}
	p.release()
}

// waits locks with Lock, looks at the counter, and unlocks.
func (p *player) waits() {
	if !p.lockAndWait() {
		return
	}
	p.read()
	p.release()
}

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
