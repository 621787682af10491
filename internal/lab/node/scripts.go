package node

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Scripts are what scripts did to embedded servers. A script that comes to a server
// which holds the same as one that executed it before is not executed again: the server
// is given what the other held afterwards, and the reply is the same. The servers of a
// quorum are often sent the same script one after the other, most scenarios of a lock
// begin alike, and to execute a script costs more than all the rest of a command.
//
// A nil *Scripts keeps nothing.
type Scripts struct {
	mu      sync.Mutex
	effects map[string]*effect
}

// effect is what a script replied, what its server held then, and the messages that
// the script published.
type effect struct {
	reply    string
	after    []holding
	messages []message
}

type message struct{ channel, text string }

// sent is what a server keeps of the commands that it is sent, those inside scripts
// included: all that a script's effect depends on besides the keys. Connections shake
// hands while a command of another one is executed.
type sent struct {
	mu      sync.Mutex
	special bool // there was one that isn't simple
	command      // the one under way
}

type command struct {
	timed    bool // it depends on the clock
	collects bool // the messages it publishes are kept
	messages []message
}

func (s *sent) saw(command string, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.special = s.special || !simple(command)
	s.timed = s.timed || tellsTime(command, args)
	if s.collects && command == "PUBLISH" && len(args) == 2 {
		s.messages = append(s.messages, message{args[0], args[1]})
	}
}

// next begins a command, and returns the one before it.
func (s *sent) next(collects bool) (last command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, s.command = s.command, command{collects: collects}
	return last
}

func (s *sent) isSpecial() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.special
}

// NewScripts keeps what scripts do from now on.
func NewScripts() *Scripts { return &Scripts{effects: map[string]*effect{}} }

// AnyTime is given in place of a time where the clock must not matter.
const AnyTime time.Duration = -1

// Execute executes a command on a server, with execute where it can't be known
// otherwise. Now is what the server's clock says; with AnyTime, a command that depends
// on the clock is always executed.
//
// An error reply is never kept.
func (s *Scripts) Execute(n *Embedded, now time.Duration, args []string,
	execute func(args []string) string) (reply string) {
	if s == nil || !isScript(args[0]) || n.sent.isSpecial() {
		return execute(args)
	}
	m := n.Server()
	before := contentsOf(m)
	if !before.known {
		return execute(args)
	}
	key := asked(now, args, before)
	if e := s.effect(key); e != nil {
		replace(m, before.holds, e.after)
		for _, published := range e.messages {
			m.Publish(published.channel, published.text)
		}
		return e.reply
	}
	n.sent.next(true)
	reply = execute(args)
	sent := n.sent.next(false)
	if after := contentsOf(m); after.known && !n.sent.isSpecial() &&
		(now != AnyTime || !sent.timed) && !strings.HasPrefix(reply, "-") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.effects[key] = &effect{reply, after.holds, sent.messages}
	}
	return reply
}

func (s *Scripts) effect(key string) *effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[key]
}

func isScript(command string) bool {
	return strings.EqualFold(command, "EVALSHA") || strings.EqualFold(command, "EVAL")
}

// asked is all that the effect of a script depends on. Lengths keep the words apart.
func asked(now time.Duration, args []string, before contents) string {
	b := strconv.AppendInt(make([]byte, 0, 512), int64(now), 10)
	word := func(w string) {
		b = append(strconv.AppendInt(append(b, ' '), int64(len(w)), 10), ':')
		b = append(b, w...)
	}
	for _, arg := range args {
		word(arg)
	}
	for _, h := range before.holds {
		b = strconv.AppendInt(append(b, '\n'), int64(h.TTL), 10)
		word(h.Kind)
		word(h.Key)
		word(h.Value)
		for _, field := range h.Fields {
			word(field)
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(before.listeners)) {
		b = strconv.AppendInt(append(b, '\n'), int64(before.listeners[channel]), 10)
		word(channel)
	}
	return string(b)
}

// holding is a key of a server, with all that the server knows of it.
type holding struct {
	Key    string
	Kind   string // string, hash or zset
	Value  string
	Fields []string // of a hash: names and values in turn; members and scores
	TTL    time.Duration
}

// equal says whether two holdings are the same.
func (h holding) equal(other holding) bool {
	return h.Key == other.Key && h.Kind == other.Kind && h.Value == other.Value &&
		h.TTL == other.TTL && slices.Equal(h.Fields, other.Fields)
}

// contents is what a server holds, by key, and who listens to messages.
type contents struct {
	holds     []holding
	listeners map[string]int // by channel
	known     bool           // and nothing else
}

func contentsOf(m *miniredis.Miniredis) contents {
	if m.PubSubNumPat() > 0 {
		return contents{}
	}
	c := contents{known: true}
	if channels := m.PubSubChannels(""); len(channels) > 0 {
		c.listeners = m.PubSubNumSub(channels...)
	}
	for _, key := range m.Keys() {
		h := holding{Key: key, Kind: m.Type(key), TTL: m.TTL(key)}
		switch h.Kind {
		case "string":
			h.Value, _ = m.Get(key)
		case "hash":
			fields, _ := m.HKeys(key)
			slices.Sort(fields)
			for _, field := range fields {
				h.Fields = append(h.Fields, field, m.HGet(key, field))
			}
		case "zset":
			scores, _ := m.SortedSet(key)
			for _, member := range slices.Sorted(maps.Keys(scores)) {
				h.Fields = append(h.Fields, member,
					strconv.FormatFloat(scores[member], 'g', -1, 64))
			}
		default:
			return contents{}
		}
		c.holds = append(c.holds, h)
	}
	return c
}

// replace makes the server hold after where it holds before.
func replace(m *miniredis.Miniredis, before, after []holding) {
	for _, h := range before {
		if !slices.ContainsFunc(after, h.equal) {
			m.Del(h.Key)
		}
	}
	for _, h := range after {
		if slices.ContainsFunc(before, h.equal) {
			continue
		}
		switch h.Kind {
		case "string":
			m.Set(h.Key, h.Value)
		case "hash":
			m.HSet(h.Key, h.Fields...)
		case "zset":
			for i := 0; i < len(h.Fields); i += 2 {
				score, _ := strconv.ParseFloat(h.Fields[i+1], 64)
				m.ZAdd(h.Key, score, h.Fields[i])
			}
		}
		if h.TTL > 0 {
			m.SetTTL(h.Key, h.TTL)
		}
	}
}

// simple are the commands after which a script depends on nothing but the keys, and
// on what a holding says of them.
func simple(command string) bool {
	switch strings.ToUpper(command) {
	case "DECR", "DECRBY", "DEL", "EVAL", "EVALSHA", "EXISTS", "EXPIRE", "EXPIREAT",
		"FLUSHALL", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HLEN",
		"HMGET", "HSET", "INCR", "INCRBY", "PERSIST", "PEXPIRE", "PEXPIREAT", "PSETEX",
		"PTTL", "PUBLISH", "SCRIPT", "SET", "SETEX", "SETNX", "SUBSCRIBE", "TIME", "TTL",
		"UNSUBSCRIBE", "ZADD", "ZCARD", "ZCOUNT", "ZINCRBY", "ZPOPMAX", "ZPOPMIN",
		"ZRANGE", "ZRANGEBYSCORE", "ZRANK", "ZREM", "ZREMRANGEBYRANK",
		"ZREMRANGEBYSCORE", "ZREVRANGE", "ZSCORE":
		return true
	case "SELECT":
		return false
	}
	return OfDriver(command)
}

// tellsTime says whether a command brings the server's clock into a script, so that
// the script's effect depends on when it runs.
func tellsTime(command string, args []string) bool {
	switch strings.ToUpper(command) {
	case "TIME", "EXPIREAT", "PEXPIREAT":
		return true
	case "SET":
		return slices.ContainsFunc(args, func(arg string) bool {
			return strings.EqualFold(arg, "EXAT") || strings.EqualFold(arg, "PXAT")
		})
	}
	return false
}
