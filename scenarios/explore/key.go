package explore

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/internal/lab/history"
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

// rest stands for what is no client's: the clock, what the nodes hold and until when, whose
// grants they are, the storage, who believes to hold the lock, and what the adversary has done.
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

// alias is the name of a random word, or the word.
func (c *controller) alias(word string) string {
	if alias, ok := c.world.Names().Alias(word); ok {
		return alias
	}
	return word
}

// exact writes a command down so that it is told apart from every other, but for
// random words, which differ from run to run and are known by their names.
func (c *controller) exact(args []string) string {
	b := make([]byte, 0, 256)
	for _, arg := range args {
		b = append(c.exactly(b, arg), ' ')
	}
	return string(b)
}

// exactly appends a value like that. The names of random words stand without quotes.
func (c *controller) exactly(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "nil"...)
	case string:
		if alias, ok := c.world.Names().Alias(v); ok {
			// A time in nanoseconds is as long as a random word.
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return append(b, alias...)
			}
		}
		return strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(c.exactly(b, e), ' ')
		}
		return append(b, ']')
	}
	return fmt.Appendf(b, "%T %v", value, value)
}

// frame writes down what a node has sent.
func (c *controller) frame(raw string) string {
	value, err := c.world.Names().Parse(raw)
	if err != nil {
		return fmt.Sprintf(" %q", raw)
	}
	b := append(make([]byte, 0, 128), ' ', raw[0], ' ')
	return string(c.exactly(b, value))
}

// bare is a word that is written without quotes.
type bare string

// words appends a line's words, each after a space: texts in quotes, everything else bare.
func words(b []byte, values ...any) []byte {
	for _, value := range values {
		b = append(b, ' ')
		switch v := value.(type) {
		case bare:
			b = append(b, v...)
		case string:
			b = strconv.AppendQuote(b, v)
		default:
			b = fmt.Append(b, v)
		}
	}
	return b
}

// dump appends what a node holds, with the ends of leases, and whose it is.
func (c *controller) dump(b []byte, node int) []byte {
	log, m := c.world.Log(), c.server(node)
	byName := func(v, w string) int { return strings.Compare(c.alias(v), c.alias(w)) }
	for _, key := range m.Keys() {
		kind := m.Type(key)
		b = words(b, node, bare(kind), key)
		if ttl := m.TTL(key); ttl > 0 {
			b = words(b, bare("until"), log.Now()+ttl)
		}
		switch kind {
		case "string":
			value, _ := m.Get(key)
			b = words(b, c.alias(value))
		case "hash":
			fields, _ := m.HKeys(key)
			slices.SortFunc(fields, byName)
			for _, field := range fields {
				b = words(b, c.alias(field), c.alias(m.HGet(key, field)))
			}
		case "list":
			values, _ := m.List(key)
			for _, value := range values {
				b = words(b, c.alias(value))
			}
		case "set":
			members, _ := m.Members(key)
			slices.SortFunc(members, byName)
			for _, member := range members {
				b = words(b, c.alias(member))
			}
		case "zset":
			scores, _ := m.SortedSet(key)
			for _, member := range slices.SortedFunc(maps.Keys(scores), byName) {
				b = words(b, c.alias(member), scores[member])
				at := history.Place{Node: node, Key: key, Member: member}
				if g := log.Grants[at]; g != nil {
					b = words(b, bare("since"), g.Since.Sub(log.Start))
				}
			}
		default:
			b = words(b, bare("never the same"), c.Passed())
		}
		if g := log.Grants[place(node, key)]; g != nil {
			b = words(b, bare("of"), bare(g.Owner), bare("since"), g.Since.Sub(log.Start))
		}
		b = append(b, '\n')
	}
	return b
}
