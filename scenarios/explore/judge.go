package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// broken are the invariants that the state itself breaks, whatever led to it.
func (r *run) broken() []Breach {
	var broken []Breach
	if rivals := r.world.Log().Rivals(); len(rivals) > 1 {
		broken = append(broken, Breach{TwoHolders, fmt.Sprintf("%s and %s believe"+
			" to hold the lock", rivals[0], rivals[1])})
	}
	for _, p := range r.players {
		switch {
		case r.underWay(p.client):
			// A command on its way may still free the lock.
		case r.abandons(p) && r.control.endless(p.client):
			broken = append(broken, Breach{Orphaned, p.owner + " will never free" +
				" its lock, and no lease ends it"})
		case !p.Dead() && p.waiting && (p.ownsLock() || p.ownsName(key)):
			// Only it asks for the other name, so its lock can only be in its own way.
			broken = append(broken, Breach{SelfDeadlock, p.owner + " waits for its own lock"})
		}
	}
	return append(broken, r.lostWakeUps()...)
}

// abandons says whether a player's process frees no grant any more. Another owner of the
// process may still do so, unless it waits inside Lock and nothing is on its way.
func (r *run) abandons(p *player) bool {
	if p.Dead() || !p.done {
		return p.Dead()
	}
	return !slices.ContainsFunc(p.players, func(other *player) bool {
		return !other.done && (!other.locking || !r.calm())
	})
}

// free says whether no key of the lock is on any node.
func (r *run) free() bool {
	for i := range r.bounds.Nodes {
		if !r.world.Node(i).Free() {
			return false
		}
	}
	return true
}

// expires keeps whether the lock is free because its lease has ended.
func (r *run) expires(a action, held bool) {
	switch {
	case r.program != Wait:
	case held:
		r.expired = a.sign == leaseUp && r.free()
	default:
		r.expired = r.expired && r.free()
	}
}

// asks keeps whether the newest command of a process has come to a lock that was not
// to be had: only who was refused is owed a message.
func (r *run) asks(p *client, f *flight) {
	if r.program == Wait && !strings.Contains(f.text, "SUBSCRIBE ") {
		_, turn, _ := r.turn()
		p.refused = !p.ownsLock() && (!r.free() || turn)
	}
}

// calm says whether nothing happens any more unless the adversary does something.
func (r *run) calm() bool {
	return !r.mustMove && !slices.ContainsFunc(r.enabled(), func(a action) bool {
		return !a.adversary()
	})
}

// waiters are the players that wait inside Lock although the lock is free and
// nothing is on its way to anybody.
func (r *run) waiters() []*player {
	var waiters []*player
	for _, p := range r.players {
		if p.locking && !p.gaveUp && !p.Dead() {
			waiters = append(waiters, p)
		}
	}
	if waiters == nil || !r.calm() || !r.free() {
		return nil
	}
	return waiters
}

// waitForTimers are those of them that no message is due to: the lock was freed by the end of a
// lease; the waiter was not refused, but granted too late; a message got lost without anybody's
// notice; or the lock is kept for another process's turn. Their timers must wake them.
func (r *run) waitForTimers() []*player {
	return slices.DeleteFunc(r.waiters(), func(p *player) bool {
		asked := p.refused || len(p.players) > 1
		return asked && !r.expired && !r.dropped && !r.turnOfAnother(p)
	})
}

// turn is whose turn keeps a free lock, and for how long.
func (r *run) turn() (owner string, kept bool, left time.Duration) {
	if r.bounds.Turn == nil {
		return "", false, 0
	}
	m, key := r.control.server(0), r.bounds.Turn(key)
	id, err := m.Get(key)
	if err != nil {
		return "", false, 0
	}
	owner, _, _ = strings.Cut(id, "#")
	return owner, id != "", m.TTL(key)
}

// turnOfAnother says whether a free lock is kept for another process for a while.
func (r *run) turnOfAnother(p *player) bool {
	owner, _, left := r.turn()
	return left > 0 && !slices.ContainsFunc(p.players, func(p *player) bool { return p.owner == owner })
}

// lostWakeUps are the waiters that nothing will wake, but for timers that do not count.
func (r *run) lostWakeUps() []Breach {
	var broken []Breach
	excused := r.waitForTimers()
	for _, p := range r.waiters() {
		switch {
		case !slices.Contains(excused, p):
			broken = append(broken, Breach{LostWakeUp, p.owner + " waits although" +
				" the lock is free, and nothing is on its way"})
		case r.finished[r.moment(p.client)]:
			broken = append(broken, Breach{LostWakeUp, p.owner + " waits although" +
				" the lock is free, and no timer of its process will wake it"})
		}
	}
	return broken
}
