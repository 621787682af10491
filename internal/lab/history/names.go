package history

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2/proto"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Names writes commands and replies as a person would. Scripts have names and
// random tokens are numbered, so that the same scenario has the same text in
// every run. It may be used by several goroutines.
type Names struct {
	Key string // a value that contains it is no random token

	mu      sync.Mutex
	scripts map[string]string // SHA1 of a Lua script: its name
	aliases map[string]string // random values: the names that they print as
	aliased map[string]int    // client: how many of its values have a name
	parsed  map[string]any    // replies, see Parse
}

// NewNames knows no script and no token yet.
func NewNames(key string) *Names {
	return &Names{Key: key, scripts: map[string]string{},
		aliases: map[string]string{}, aliased: map[string]int{},
		parsed: map[string]any{}}
}

// Reset forgets the tokens, but not the scripts.
func (n *Names) Reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.aliases)
	clear(n.aliased)
}

// Learn remembers the names of Lua scripts: their files begin with a line
// "-- name.lua: what it does".
func (n *Names) Learn(args []string) {
	name := strings.ToUpper(args[0])
	var source string
	switch {
	case name == "EVAL" && len(args) > 1:
		source = args[1]
	case name == "SCRIPT" && len(args) > 2 &&
		strings.EqualFold(args[1], "LOAD"):
		source = args[2]
	default:
		return
	}
	if m := scriptName.FindStringSubmatch(source); m != nil {
		sum := sha1.Sum([]byte(source))
		n.mu.Lock()
		defer n.mu.Unlock()
		n.scripts[hex.EncodeToString(sum[:])] = m[1]
	}
}

var scriptName = regexp.MustCompile(`^--\s*(\S+\.lua)`)

// Command is a client's command. Of a script's keys it has the first: the others belong
// to the lock, too.
func (n *Names) Command(client string, args []string) string {
	words := []string{strings.ToUpper(args[0])}
	rest := args[1:]
	switch words[0] {
	case "EVAL", "EVALSHA":
		if len(rest) > 1 {
			words = append(words, n.script(words[0], rest[0]))
			keys, _ := strconv.Atoi(rest[1])
			rest = rest[2:]
			if keys > 1 && keys <= len(rest) {
				rest = append(slices.Clip(rest[:1]), rest[keys:]...)
			}
		}
	case "SCRIPT":
		if len(rest) > 1 {
			return "SCRIPT " + strings.ToUpper(rest[0])
		}
	}
	for _, arg := range rest {
		switch option := strings.ToUpper(arg[:min(len(arg), 8)]); option {
		case "EX", "PX", "NX", "XX", "GET", "KEEPTTL", "IFEQ":
			arg = option
		default:
			arg = n.alias(client, arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

func (n *Names) script(command, arg string) string {
	if command == "EVAL" {
		if m := scriptName.FindStringSubmatch(arg); m != nil {
			return m[1]
		}
		return "script"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.scripts[arg]; ok {
		return name
	}
	return arg[:min(8, len(arg))]
}

// Alias is the name of a random token that was seen before.
func (n *Names) Alias(value string) (alias string, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	alias, known = n.aliases[value]
	return alias, known
}

// alias shortens what looks like a random token to the client's name and a number.
func (n *Names) alias(client, value string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if alias, ok := n.aliases[value]; ok {
		return alias
	}
	if len(value) < 16 || strings.Contains(value, n.Key) {
		return printable(terminal.Keys(value))
	}
	n.aliased[client]++
	n.aliases[value] = fmt.Sprintf("%s#%d", client, n.aliased[client])
	return n.aliases[value]
}

func printable(s string) string {
	if s == "" {
		return `""`
	}
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\t") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// Reply is a raw reply to a client.
func (n *Names) Reply(client, raw string) string {
	if strings.HasPrefix(raw, "-") {
		return strings.TrimSpace(raw[1:])
	}
	if raw == "$-1\r\n" || raw == "*-1\r\n" || raw == proto.NilResp3 {
		return "nil"
	}
	value, err := n.Parse(raw)
	if err != nil {
		return printable(raw)
	}
	return n.value(client, value)
}

// Parse is a raw reply as a value. Nodes often send the same reply again, and a
// parser costs 4 KB, so that a reply is parsed once.
func (n *Names) Parse(raw string) (value any, err error) {
	n.mu.Lock()
	known, ok := n.parsed[raw]
	n.mu.Unlock()
	if ok {
		return known, nil
	}
	if value, err = proto.Parse(raw); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.parsed) >= mostParsed {
		clear(n.parsed)
	}
	n.parsed[raw] = value
	return value, nil
}

// mostParsed is how many replies are known at a time.
const mostParsed = 1000

// nilString is how proto.Parse hands back a nil that stands in an array.
const nilString = "$-1\r\n"

func (n *Names) value(client string, value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case string:
		if v == nilString {
			return "nil"
		}
		return n.alias(client, v)
	case []any:
		var words []string
		for _, e := range v {
			words = append(words, n.value(client, e))
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(value)
}
