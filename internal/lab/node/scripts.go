package node

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Scripts are what scripts did to the embedded servers of a world. A script that
// comes to a server which holds the same as one that executed it before is not
// executed again: the server is given what the other held afterwards, and the reply
// is the same. The servers of a quorum are often sent the same script one after the
// other, and to execute it costs more than all the rest of a command.
//
// A nil *Scripts keeps nothing.
type Scripts struct {
	mu      sync.Mutex
	effects map[string]*effect
}

// effect is what a script replied and what its server held then.
type effect struct {
	reply string
	after []Holding
}

// NewScripts keeps what scripts do from now on.
func NewScripts() *Scripts { return &Scripts{effects: map[string]*effect{}} }

// Execute executes a command on a server, with execute where it can't be known
// otherwise. Now is what the server's clock says, or 0 when the command doesn't
// depend on that. Simple is asked before and after the command: is it true that the
// command depends on nothing but this and the keys, and that nothing else depends on
// it, such as a connection that watches a key? Execute also says whether the server
// holds something else than before; true where that can't be known.
//
// An error reply is never kept.
func (s *Scripts) Execute(m *miniredis.Miniredis, now time.Duration, args []string,
	simple func() bool, execute func(args []string) string) (reply string,
	changed bool) {
	before, plain := Holdings(m)
	plain = plain && simple()
	key := ""
	if s != nil && plain && isScript(args[0]) {
		key = asked(now, args, before)
	}
	if e := s.effect(key); e != nil {
		replace(m, before, e.after)
		return e.reply, !slices.EqualFunc(before, e.after, Holding.Equal)
	}
	reply = execute(args)
	after, still := Holdings(m)
	if key != "" && still && simple() && !strings.HasPrefix(reply, "-") {
		s.mu.Lock()
		s.effects[key] = &effect{reply, after}
		s.mu.Unlock()
	}
	return reply, !plain || !still || !slices.EqualFunc(before, after, Holding.Equal)
}

func (s *Scripts) effect(key string) *effect {
	if key == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[key]
}

func isScript(command string) bool {
	return strings.EqualFold(command, "EVALSHA") || strings.EqualFold(command, "EVAL")
}

// asked is all that the effect of a script depends on. Lengths keep the words apart.
func asked(now time.Duration, args []string, before []Holding) string {
	b := strconv.AppendInt(make([]byte, 0, 512), int64(now), 10)
	word := func(w string) {
		b = append(strconv.AppendInt(append(b, ' '), int64(len(w)), 10), ':')
		b = append(b, w...)
	}
	for _, arg := range args {
		word(arg)
	}
	for _, h := range before {
		b = strconv.AppendInt(append(b, '\n'), int64(h.TTL), 10)
		word(h.Key)
		word(h.Value)
		for _, field := range h.Fields {
			word(field)
		}
	}
	return string(b)
}

// Holding is a key of a server, with all that the server knows of it.
type Holding struct {
	Key    string
	Value  string
	Fields []string // of a hash: names and values in turn
	TTL    time.Duration
}

// Equal says whether two holdings are the same.
func (h Holding) Equal(other Holding) bool {
	return h.Key == other.Key && h.Value == other.Value && h.TTL == other.TTL &&
		slices.Equal(h.Fields, other.Fields)
}

// Holdings are what a server holds, by key. It is false when that is more than
// strings and hashes, or when somebody listens to messages.
func Holdings(m *miniredis.Miniredis) (holds []Holding, plain bool) {
	if m.PubSubNumPat() > 0 || len(m.PubSubChannels("")) > 0 {
		return nil, false
	}
	for _, key := range m.Keys() {
		h := Holding{Key: key, TTL: m.TTL(key)}
		switch m.Type(key) {
		case "string":
			h.Value, _ = m.Get(key)
		case "hash":
			fields, _ := m.HKeys(key)
			slices.Sort(fields)
			for _, field := range fields {
				h.Fields = append(h.Fields, field, m.HGet(key, field))
			}
		default:
			return nil, false
		}
		holds = append(holds, h)
	}
	return holds, true
}

// replace makes the server hold after where it holds before.
func replace(m *miniredis.Miniredis, before, after []Holding) {
	for _, h := range before {
		if !slices.ContainsFunc(after, h.Equal) {
			m.Del(h.Key)
		}
	}
	for _, h := range after {
		if slices.ContainsFunc(before, h.Equal) {
			continue
		}
		if h.Fields != nil {
			m.HSet(h.Key, h.Fields...)
		} else {
			m.Set(h.Key, h.Value)
		}
		if h.TTL > 0 {
			m.SetTTL(h.Key, h.TTL)
		}
	}
}

// simple are the commands after which a script depends on nothing but the keys, and
// on what a Holding says of them.
func simple(command string) bool {
	switch strings.ToUpper(command) {
	case "DECR", "DECRBY", "DEL", "EVAL", "EVALSHA", "EXISTS", "EXPIRE", "EXPIREAT",
		"FLUSHALL", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HLEN",
		"HMGET", "HSET", "INCR", "INCRBY", "PERSIST", "PEXPIRE", "PEXPIREAT", "PSETEX",
		"PTTL", "PUBLISH", "SCRIPT", "SET", "SETEX", "SETNX", "TIME", "TTL":
		return true
	case "SELECT":
		return false
	}
	return OfDriver(command)
}

// tellsTime says whether a command brings the server's clock into a script: what the
// script does depends on when it does it.
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
