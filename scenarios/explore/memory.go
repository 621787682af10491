package explore

import (
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// effect is what a script has answered and what its node held then.
type effect struct {
	reply string
	after []holding
}

// holding is a key of a node, with all that the node knows of it.
type holding struct {
	key    string
	value  string
	fields []string // of a hash: names and values in turn
	ttl    time.Duration
}

// ask lets the node execute a command. A script that was
// executed before, on a node that held the same at the same time, is not executed
// again: the node is given what it held afterwards. Scripts cost the most time.
func (k *conn) ask(args []string) string {
	c, m := k.control, k.control.server(k.Port.Index)
	before, plain := holdings(m)
	plain = plain && k.queued == "" && len(k.watching()) == 0
	known := ""
	if command := strings.ToUpper(args[0]); plain && c.remembered != nil &&
		(command == "EVALSHA" || command == "EVAL") {
		b := append(words(make([]byte, 0, 512), c.world.Now(), args), '\n')
		for _, h := range before {
			b = append(words(b, h.key, h.value, h.fields, h.ttl), '\n')
		}
		known = string(b)
	}
	if e := c.remembered[known]; e != nil {
		c.changed = !slices.EqualFunc(before, e.after, holding.equal)
		restore(k.control.server(k.Port.Index), e.after)
		return e.reply
	}
	reply := k.Server.Execute(args)
	after, still := holdings(k.control.server(k.Port.Index))
	c.changed = !plain || !still || !slices.EqualFunc(before, after, holding.equal)
	if known != "" && still && !strings.HasPrefix(reply, "-") {
		c.remembered[known] = &effect{reply, after}
	}
	return reply
}

// server is a node's server, with its clock set.
func (c *controller) server(node int) *miniredis.Miniredis {
	return c.world.Node(node).Embedded().Server()
}

// holdings are what a node holds. It is false when that is more than strings and
// hashes, or when somebody listens to messages.
func holdings(m *miniredis.Miniredis) (holds []holding, plain bool) {
	if m.PubSubNumPat() > 0 || len(m.PubSubChannels("")) > 0 {
		return nil, false
	}
	for _, key := range m.Keys() {
		h := holding{key: key, ttl: m.TTL(key)}
		switch m.Type(key) {
		case "string":
			h.value, _ = m.Get(key)
		case "hash":
			fields, _ := m.HKeys(key)
			slices.Sort(fields)
			for _, field := range fields {
				h.fields = append(h.fields, field, m.HGet(key, field))
			}
		default:
			return nil, false
		}
		holds = append(holds, h)
	}
	return holds, true
}

func (h holding) equal(other holding) bool {
	return h.key == other.key && h.value == other.value && h.ttl == other.ttl &&
		slices.Equal(h.fields, other.fields)
}

// restore makes the node hold this and nothing else.
func restore(m *miniredis.Miniredis, holds []holding) {
	m.FlushAll()
	for _, h := range holds {
		if h.fields != nil {
			m.HSet(h.key, h.fields...)
		} else {
			m.Set(h.key, h.value)
		}
		if h.ttl > 0 {
			m.SetTTL(h.key, h.ttl)
		}
	}
}
