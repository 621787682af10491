package explore

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/lab/node"
)

// key is the key of the state that the run is in.
func (r *run) key() stateKey {
	k := stateKey{r.rest()}
	for i := range r.clients {
		k = append(k, r.client(i))
	}
	return k
}

// rest stands for what is no client's: the clock, what the nodes hold and until when,
// whose grants they are, the storage, who believes to hold the lock, and what the
// adversary has done.
func (r *run) rest() part {
	log := r.world.Log()
	b := append(words(make([]byte, 0, 1024), log.Now()), '\n')
	for n := range r.world.Nodes {
		b = r.control.dump(b, n)
	}
	b = r.connections(b)
	for _, h := range log.Inside {
		b = append(words(b, bare("in"), h.Owner, h.Number, h.Told(), h.Shared), '\n')
	}
	b = append(words(b, bare("held"), log.Held), '\n')
	b = append(b, r.storage.Snapshot()...)
	for _, used := range r.used.adversary() {
		b = words(b, *used.n)
	}
	return sha256.Sum256(words(b, r.dropped, r.expired, r.mustMove))
}

// connections appends what the nodes keep for their connections: messages that wait
// behind the one that is on its way, and the channels that a client listens to whose part
// of the key doesn't have the answers from which that follows.
func (r *run) connections(b []byte) []byte {
	var lines []string
	for _, k := range r.control.conns() {
		line := ""
		if !k.Gone() {
			for _, frame := range k.Server.(node.Queue).Waiting() {
				line += r.control.frame(frame)
			}
		}
		if k.client.Dead() || r.isThrough(k.client) {
			for _, channel := range k.channels {
				line += " hears " + r.control.alias(channel)
			}
		}
		if line != "" {
			lines = append(lines, fmt.Sprintf("%d %s %s\n", k.Port.Index, k.client.Name, line))
		}
	}
	slices.Sort(lines)
	return append(b, strings.Join(lines, "")...)
}

// client stands for a client: the facts known about it, its messages on their way, and
// its process, whose next steps follow from the answers it got, and when.
func (r *run) client(i int) part {
	p := r.clients[i]
	b := p.snapshot(make([]byte, 0, 1024), r.flights)
	if p.Dead() {
		b = append(b, "\ndead"...)
	} else if r.isThrough(p) {
		b = append(b, "\ndone"...)
	} else {
		b = append(append(b, '\n'), p.history[:]...)
	}
	b = words(b, p.refused)
	for _, p := range p.players {
		if !p.Dead() {
			b = words(b, p.waiting)
		}
		if a := p.access; a != nil {
			b = fmt.Appendf(b, " %t %d %d %d %d", a.write, a.holding.Number,
				a.token, a.value, a.version)
		}
		if p.parked != nil {
			b = fmt.Appendf(b, " %v", *p.parked)
		}
	}
	return sha256.Sum256(b)
}

// snapshot appends what is known of the client, and what of it is on its way.
func (c *client) snapshot(b []byte, flights []*flight) []byte {
	log := c.control.world.Log()
	if b = words(b, c.Name); c.Dead() {
		b = append(b, " dead\n"...)
	} else {
		b = words(b, c.Asleep(), c.asked, c.owned, c.freed)
		for n, seen := range c.seen {
			b = words(b, seen == log.Version(n))
		}
		b = append(b, '\n')
	}
	for _, f := range flights {
		if f.conn.client != c {
			continue
		}
		b = words(b, int(f.kind), f.conn.Port.Index, f.sent.Sub(log.Start), f.early,
			f.stray(), f.behind, f.text, bare(f.exact))
		if f.kind == aReply {
			b = words(append(b, f.reply()...), max(f.after-f.conn.heard, 0))
		}
		b = append(b, '\n')
	}
	return b
}
