package explore

import "github.com/lockladder/lockladder/lock"

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
	return p.ask("TryRLock", rw.TryRLock, func(how string) {
		p.run.granted = p.run.granted || p.program == Read
		p.reads++
		if p.reads+p.depth == 1 {
			p.believeToRead()
		}
		p.run.touched.reads |= allNodes
		p.note("%s", how)
	})
}

// believeToRead counts the player among the readers.
func (p *player) believeToRead() {
	p.run.touched.writes |= beliefs
	p.holding = p.EnterSharedAs(p.owner, p.lost())
}

// releaseRead read-unlocks.
func (p *player) releaseRead() {
	p.reads--
	if p.reads+p.depth == 0 {
		p.LeaveAs(p.owner)
	}
	p.leave("RUnlock", p.lock.(lock.ReadWrite).RUnlock, p.reads)
}
