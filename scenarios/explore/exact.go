package explore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/internal/lab/history"
)

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

// exactly appends a value like that. The names of random words stand without
// quotes.
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
			b = words(b, bare("of"), bare(g.Owner), bare("since"),
				g.Since.Sub(log.Start))
		}
		b = append(b, '\n')
	}
	return b
}
