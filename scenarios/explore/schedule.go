package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// action is one move of a schedule. It is written as the client's letter and a
// sign, then the node where there are several, then which of several such things
// when it is not the oldest: "A>", "B<2", "A>1.2".
type action struct {
	sign              byte
	client, node, nth uint8
}

// The signs.
const (
	request = '>' // a command of the client reaches its node
	stray   = '?' // one reaches it after the client has given it up
	reply   = '<' // a reply reaches the client
	message = '~' // a published message reaches the client
	storage = '=' // a request reaches the storage, and is answered
	lose    = '!' // a reply is lost: its connection breaks
	cut     = '/' // a message is lost: its connection breaks
	drop    = '-' // a message is lost, and its connection lives on
	failing = 'e' // a command reaches its node, which answers with an error
	giveUp  = 'g' // the context of the client's Lock ends
	crash   = 'x' // the client dies
	pause   = 'z' // the client's process stops
	wake    = 'w' // and goes on
	leaseUp = 'E' // the clock moves to the next end of a lease
	timer   = 'R' // the clock moves to when a client's timer makes it do something
)

// adversary says whether the action is the adversary's, and so has a budget.
func (a action) adversary() bool {
	return strings.IndexByte("!?/-egxzER", a.sign) >= 0
}

// moves says whether the action moves the clock, and so is no client's.
func (a action) moves() bool { return a.sign == leaseUp || a.sign == timer }

// travels says whether the action is about something on its way between a client and a node.
func (a action) travels() bool { return strings.IndexByte("><~!?/-e", a.sign) >= 0 }

// comes says whether an action is about what a client is told: a reply, a message, an answer of
// the storage, the loss of one of them, the end of its context, or its death. No other client
// notices. A command is no such action: others may listen to what it publishes.
func (a action) comes() bool {
	return strings.IndexByte("<~=!/-gx", a.sign) >= 0
}

// compare puts what clients do before what happens to them, and before the clock.
func (a action) compare(b action) int {
	const order = "><~=w ?!/-egxz ER"
	group := func(a action) int {
		return strings.Count(order[:strings.IndexByte(order, a.sign)], " ")
	}
	return cmp.Or(
		cmp.Compare(group(a), group(b)),
		cmp.Compare(a.client, b.client),
		cmp.Compare(strings.IndexByte(order, a.sign),
			strings.IndexByte(order, b.sign)),
		cmp.Compare(a.node, b.node),
		cmp.Compare(a.nth, b.nth))
}

func (a action) write(nodes int) string {
	if a.moves() {
		return string(a.sign)
	}
	text := string([]byte{'A' + a.client, a.sign})
	if nodes > 1 && a.travels() {
		text += strconv.Itoa(int(a.node) + 1)
	}
	if a.nth > 1 {
		text += "." + strconv.Itoa(int(a.nth))
	}
	return text
}

// write writes a schedule down.
func write(actions []action, nodes int) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = a.write(nodes)
	}
	return strings.Join(words, " ")
}

// parse reads what write writes.
func parse(text string) (action, error) {
	bad := fmt.Errorf("%q is no action, such as A> B< A= Ax or E: docs/explorer.md lists them", text)
	if text == "E" || text == "R" {
		return action{sign: text[0]}, nil
	}
	if len(text) < 2 || text[0] < 'A' || text[0] > 'Z' ||
		strings.IndexByte("><~=!?/-egxzw", text[1]) < 0 {
		return action{}, bad
	}
	a := action{client: text[0] - 'A', sign: text[1]}
	if a.travels() {
		a.nth = 1
	}
	number := func(digits string) uint8 { // 0 is none
		if n, err := strconv.ParseUint(digits, 10, 8); err == nil {
			return uint8(n)
		}
		return 0
	}
	node, nth, found := strings.Cut(text[2:], ".")
	if found {
		if a.nth = number(nth); a.nth == 0 {
			return action{}, bad
		}
	}
	if node != "" {
		if a.node = number(node) - 1; number(node) == 0 {
			return action{}, bad
		}
	}
	return a, nil
}

// schedule writes a schedule down. How often a client asks belongs to it, when that
// is not as usual.
func schedule(program Program, bounds Bounds, actions []action) string {
	often := ""
	if n := bounds.Attempts; n != attempts {
		often = fmt.Sprintf("/%d", n)
	}
	return fmt.Sprintf("%s%s: %s", program, often, write(actions, bounds.Nodes))
}

// read reads a schedule; attempts are 0 when it does not say.
func read(schedule string) (program Program, attempts int, actions []action, err error) {
	program = Once
	if name, rest, found := strings.Cut(schedule, ":"); found {
		name, often, some := strings.Cut(strings.TrimSpace(name), "/")
		program, schedule = Program(name), rest
		attempts, err = strconv.Atoi(often)
		if some && (err != nil || attempts < 1) {
			return "", 0, nil, fmt.Errorf("%q attempts, write a number, such as once/1", often)
		}
	}
	if !slices.Contains(Programs, program) {
		return "", 0, nil, fmt.Errorf("there is no program %q, the programs are %s", program, Programs)
	}
	words := strings.Fields(schedule)
	if len(words) == 0 {
		return "", 0, nil, errors.New("the schedule is empty, write actions, such as once: A> A<")
	}
	for _, word := range words {
		a, err := parse(word)
		if err != nil {
			return "", 0, nil, err
		}
		actions = append(actions, a)
	}
	return program, attempts, actions, nil
}
