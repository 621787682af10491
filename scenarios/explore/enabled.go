package explore

import (
	"slices"

	"github.com/lockladder/lockladder/lock"
)

// enabled are the actions that are possible now, in a fixed order.
func (r *run) enabled() []action {
	var actions, lost []action
	if !r.mustMove {
		var nth map[action]uint8
		for _, f := range r.flights {
			if f.behind {
				continue
			}
			a := action{sign: f.sign(), client: uint8(f.conn.client.index),
				node: uint8(f.conn.Port.Index)}
			asleep := f.conn.client.Asleep() && !(f.kind == aRequest && f.early)
			if nth == nil {
				nth = map[action]uint8{}
			}
			nth[a]++
			a.nth = nth[action{sign: a.sign, client: a.client, node: a.node}]
			if asleep {
				continue
			}
			actions = append(actions, a)
			if a.sign == request && r.used.Errors < r.bounds.Errors {
				failed := a
				failed.sign = failing
				lost = append(lost, failed)
			}
			if a.sign == reply && r.used.LostReplies < r.bounds.LostReplies {
				a.sign = lose
				lost = append(lost, a)
			}
			if a.sign == message && r.used.LostMessages < r.bounds.LostMessages {
				for _, a.sign = range []byte{cut, drop} {
					lost = append(lost, a)
				}
			}
		}
		for _, p := range r.players {
			if p.access != nil {
				actions = append(actions, r.by(p, storage))
			}
		}
		for i, p := range r.clients {
			if p.Asleep() && !p.Dead() {
				actions = append(actions, action{sign: wake, client: uint8(i)})
			}
		}
		actions = append(actions, lost...)
		for _, p := range r.players {
			if r.used.GiveUps < r.bounds.GiveUps && !p.Dead() && p.locking &&
				!p.gaveUp && !p.Asleep() {
				actions = append(actions, r.by(p, giveUp))
			}
		}
		for i, p := range r.clients {
			if r.used.Crashes < r.bounds.Crashes && !p.Dead() && !p.isDone() {
				actions = append(actions, action{sign: crash, client: uint8(i)})
			}
		}
	}
	return append(actions, r.clock()...)
}

// clock are the moves of the clock, and the stops of a process that come right before one. A
// process that has stopped does what it does when its messages take long, but for one thing: it
// has been told nothing meanwhile. So only those stop who believe they hold a lock that would
// tell them, and only right before the clock moves.
func (r *run) clock() []action {
	if !slices.ContainsFunc(r.players, func(p *player) bool {
		return !p.Dead() && !p.done
	}) {
		return nil // nobody is left for whom it matters
	}
	var actions []action
	if r.used.Expiries < r.bounds.Expiries && r.control.leased() {
		actions = append(actions, action{sign: leaseUp})
	}
	if r.used.Timers < r.bounds.Timers && !r.quiet() {
		actions = append(actions, action{sign: timer})
	}
	if len(actions) == 0 || r.used.Pauses == r.bounds.Pauses {
		return actions
	}
	for i, p := range r.clients {
		if !p.Dead() && !p.Asleep() && slices.ContainsFunc(p.players, told) {
			actions = append(actions, action{sign: pause, client: uint8(i)})
		}
	}
	return actions
}

// told says whether the player believes to hold a lock that would tell it of a loss.
func told(p *player) bool {
	_, ok := p.lock.(lock.LossNotifier)
	return ok && p.holding != nil && p.depth+p.reads > 0
}

// by is an action of a player.
func (r *run) by(p *player, sign byte) action {
	a := action{sign: sign, client: uint8(p.index)}
	if i := slices.Index(p.players, p); i > 0 {
		a.nth = uint8(i + 1)
	}
	return a
}

// quiet says whether it is known that no client's timer makes it do anything
// before the clock must stop anyway.
func (r *run) quiet() bool {
	horizon := r.control.horizon()
	for _, c := range r.clients {
		if !c.Dead() && !c.Asleep() && r.silence[r.moment(c)] < horizon {
			return false
		}
	}
	return true
}

// busy says whether anything of the process is on its way.
func (r *run) busy(c *client) bool {
	return slices.ContainsFunc(r.flights, func(f *flight) bool {
		return f.conn.client == c
	})
}

// unsure is a process of which it matters whether it does anything more by itself,
// when that is not known: its programs are done, or one of them waits for what
// only a timer can bring. It is nil when there is none.
func (r *run) unsure() *client {
	var waits []*player
	for _, p := range r.clients {
		if _, known := r.finished[r.moment(p)]; known || p.Dead() || r.busy(p) {
			continue
		}
		if p.isDone() {
			return p
		}
		if waits == nil {
			waits = r.waitForTimers()
		}
		if slices.ContainsFunc(waits, func(w *player) bool {
			return w.client == p
		}) {
			return p
		}
	}
	return nil
}

// finish finds that out. It ends the run.
func (r *run) finish(p *client) {
	m := r.moment(p)
	r.finished[m] = r.control.silent(p)
}

// isThrough says whether a client's programs are done, and it does nothing more. While it
// still listens to a channel, a message may wake it.
func (r *run) isThrough(p *client) bool {
	return p.isDone() && r.finished[r.moment(p)] && !r.busy(p) && !r.control.listens(p)
}
