package explore

import (
	"cmp"
	"slices"
)

// raw is a reply; no other reply is written like this one.
func (f flight) raw() string {
	if f.kind != aReply {
		return ""
	}
	return f.pass.conn.control.frame(f.pass.raw)
}

// isBehind says whether something arrives before this on the same connection: a
// message that was published before the reply, or the other way round.
func (p *pass) isBehind(waiting []*pass) bool {
	if p.kind == aReply {
		return p.conn.heard < p.behind
	}
	return p.kind == aMessage && slices.ContainsFunc(waiting, func(q *pass) bool {
		return q.conn == p.conn && q.kind == aReply && q.behind <= p.conn.heard
	})
}

// onTheWay is what is on its way and can still have an effect, ordered by client,
// node and time of sending.
func (c *controller) onTheWay() []flight {
	c.mu.Lock()
	waiting := slices.Clone(c.waiting)
	c.mu.Unlock()
	for _, p := range waiting {
		p.describe()
	}
	slices.SortStableFunc(waiting, func(a, b *pass) int {
		// Which of two goroutines came first is chance. Messages come from others'
		// acts.
		return cmp.Or(cmp.Compare(a.conn.client.Name, b.conn.client.Name),
			cmp.Compare(a.conn.Port.Index, b.conn.Port.Index),
			a.sent.Compare(b.sent),
			cmp.Compare(min(a.kind, 1), min(b.kind, 1)),
			cmp.Compare(a.act, b.act),
			cmp.Compare(a.exact, b.exact))
	})
	flights := make([]flight, 0, len(waiting))
	for _, p := range waiting {
		f := flight{kind: p.kind, client: p.conn.client, node: p.conn.Port.Index,
			text: p.text, exact: p.exact, left: p.left, stray: p.conn.Gone(),
			sent: p.sent.Sub(c.world.Log().Start), pass: p}
		if f.kind != aRequest && f.stray {
			continue
		}
		f.behind = p.isBehind(waiting)
		if f.client.Dead() && (f.kind != aRequest ||
			f.client.Asleep() && !f.left) {
			continue
		}
		flights = append(flights, f)
	}
	return flights
}
