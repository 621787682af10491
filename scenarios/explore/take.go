package explore

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// errQuiet says that the clock was to move to a timer, and there was none.
var errQuiet = errors.New("no client's timer makes it do anything before a lease ends")

// take takes an action and returns what it broke. The error is errDiverged when
// the action is not possible, and errQuiet.
func (r *run) take(a action) ([]Breach, error) {
	seen, held := len(r.world.Broken()), r.program == Wait && !r.free()
	r.asked = asked{}
	others := r.sentByOthers(a)
	if err := r.do(a); err != nil {
		return nil, err
	}
	r.control.settle()
	if !a.moves() && r.sentByOthers(a) != others {
		r.hides("when something reached %s, another client sent a command, which nothing"+
			" had reached", r.clients[a.client].Name)
	}
	r.settle()
	r.expires(a, held)
	if err := r.failed(); err != nil {
		return nil, err
	}
	var broken []Breach
	for _, b := range r.world.Broken()[seen:] {
		if b.Invariant == history.TwoHolders {
			continue // see broken
		}
		broken = append(broken, Breach{Invariant(b.Invariant), b.Event})
	}
	return broken, nil
}

// sentByOthers is how many commands the clients have sent that the action isn't about.
func (r *run) sentByOthers(a action) (sent int64) {
	for i, c := range r.clients {
		if i != int(a.client) {
			sent += c.commands.Load()
		}
	}
	return sent
}

func (r *run) do(a action) error {
	switch {
	case a.sign == leaseUp:
		return r.endLease()
	case a.sign == timer:
		return r.awaitTimer()
	case int(a.client) >= len(r.clients):
		return errDiverged
	}
	c := r.clients[a.client]
	c.act()
	switch a.sign {
	case storage:
		return r.serve(r.player(a))
	case giveUp:
		p := r.player(a)
		if p == nil || !p.locking {
			return errDiverged
		}
		r.used.GiveUps++
		p.remember("gives up", r.world.Now())
		p.note("gives up: the context of its Lock ends")
		p.gaveUp = true
		p.giveUp()
	case crash:
		r.used.Crashes++
		c.Die()
	case pause:
		r.used.Pauses++
		r.mustMove = true
		c.remember("stops", r.world.Now())
		c.pause(true)
	case wake:
		c.remember("goes on", r.world.Now())
		c.pause(false)
		for _, p := range c.players {
			if p.parked != nil {
				a := *p.parked
				p.parked = nil
				p.answer(a)
			}
		}
	default:
		return r.deliver(c, a)
	}
	return nil
}

// endLease moves the clock to the next end of a lease.
func (r *run) endLease() error {
	r.mustMove = false
	r.used.Expiries++
	if !r.control.leased() {
		return errDiverged
	}
	r.control.moveToLeaseEnd(r.turns)
	r.nudge()
	return nil
}

// awaitTimer moves the clock to when a timer makes a client do something. When none does
// it keeps that for other runs.
func (r *run) awaitTimer() error {
	r.mustMove = false
	r.used.Timers++
	horizon := r.control.horizon()
	silent := map[moment]time.Duration{}
	for _, c := range r.clients {
		if !c.Dead() && !c.Asleep() {
			silent[r.moment(c)] = horizon
		}
	}
	if !r.control.moveToArrival() {
		maps.Copy(r.silence, silent)
		return errQuiet
	}
	r.nudge()
	return nil
}

// nudge moves the clock a few nanoseconds further, after each move but the first by another
// number of them. In life no two moments are the same. Here the clock stands still between its
// moves, and timers that were set at different moments would often be due at the same one. Which
// of them comes first would be chance then. No sum of these numbers is another sum of them.
func (r *run) nudge() {
	if moves := r.used.Expiries + r.used.Timers; moves > 1 {
		r.control.move(min(1<<min(moves-2, 16), r.control.horizon()-r.world.Now()-1))
	}
}

// deliver lets something arrive, or a reply get lost.
func (r *run) deliver(p *client, a action) error {
	nth := uint8(0)
	for _, f := range r.flights {
		if f.conn.client != p || !f.is(a) || f.conn.Port.Index != int(a.node) || f.behind {
			continue
		}
		if nth++; nth != a.nth {
			continue
		}
		switch a.sign {
		case request:
			r.asks(p, f)
		case stray:
			r.used.Strays++
		case failing:
			r.used.Errors++
			r.control.fail(f)
			return nil
		case lose:
			r.used.LostReplies++
			p.remember(fmt.Sprintf("%d lost %s", a.node, f.exact), r.world.Now())
			r.control.lose(f)
			return nil
		case cut, drop:
			// A client is not told of a message that is dropped: it knows what it
			// would know if the message had never been sent.
			r.used.LostMessages++
			if a.sign == cut {
				p.remember(fmt.Sprintf("%d cut %s", a.node, f.exact), r.world.Now())
			} else {
				r.dropped = true
			}
			r.control.loseMessage(f, a.sign == cut)
			return nil
		default:
			p.remember(fmt.Sprintf("%d %s %s %s", a.node, f.text, f.exact, f.reply()), r.world.Now())
			if r.records && a.sign == reply {
				p.Note("gets the reply to %s", f.text)
			}
		}
		r.control.deliver(f)
		return nil
	}
	return errDiverged
}

// serve lets the player's request arrive at the storage. The answer is with the
// player at once, unless it is stopped.
func (r *run) serve(p *player) error {
	if p == nil || p.access == nil {
		return errDiverged
	}
	a := p.access
	p.access = nil
	var got answer
	if a.write {
		got.ok = r.storage.Write(a.holding, a.token, a.value, a.version)
	} else {
		got.value, got.version, got.ok = r.storage.Read(a.holding, a.token)
	}
	r.asked = asked{reads: !a.write, writes: a.write, refused: !got.ok}
	switch {
	case p.Dead():
	case p.Asleep():
		p.parked = &got
	default:
		p.answer(got)
	}
	return nil
}
