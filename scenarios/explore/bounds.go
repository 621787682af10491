package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	key      = "lock:stock"
	other    = "lock:orders" // the second name, with Names
	lease    = 10 * time.Second
	attempts = 5 // of a client, when the bounds do not say
)

// Program is what client A does; the other clients lock once. With Wait all do the same.
type Program string

// The programs. Under the lock a client reads a counter in a storage that checks
// fencing tokens, and writes back one more.
const (
	Once   Program = "once"   // lock, read, write, unlock
	Twice  Program = "twice"  // the same again with the same handle
	Nested Program = "nested" // lock, lock again, read, unlock, write, unlock
	Wait   Program = "wait"   // Lock, which waits inside, then read, unlock
	Names  Program = "names"  // lock, lock another name, read, unlock that, write, unlock
	Extra  Program = "extra"  // lock, read, write, unlock, and one unlock too many

	// Read and Downgrade are for a lock.ReadWrite.
	Read      Program = "read"      // all but the last read-lock, read, read-unlock
	Downgrade Program = "downgrade" // lock, read-lock, write, unlock, read, read-unlock
)

// Programs are all programs. The first three are what Bounds.Programs is by default.
var Programs = []Program{Once, Twice, Nested, Wait, Names, Extra, Read, Downgrade}

// Bounds say how far the explorer goes. An event whose bound is zero does not happen,
// except where another default is named.
type Bounds struct {
	Clients int // default 2
	Owners  int // of client A, in one process; default 1, and more only with Wait
	Nodes   int // independent Redis nodes; default 1

	// The adversary's budget.
	Expiries    int // the clock moves to the next end of a lease
	Timers      int // the clock moves to when a client's own timer acts
	Crashes     int // a client dies; the commands it has sent may still arrive
	LostReplies int // a command is executed, and its connection breaks
	Strays      int // a command arrives that its client has given up
	Errors      int // a server answers a command with an error instead of executing it
	Pauses      int // a holder's process stops, over a move of the clock

	// LostMessages is how many published messages get lost: with the subscriber's
	// connection, or without anybody's notice.
	LostMessages int
	GiveUps      int // the context of a client's Lock ends

	// Attempts is how often a client asks before it gives up; default 5. A
	// client that is refused asks again when the lock has changed on a node, so
	// that a lock on one node rarely comes to it.
	Attempts int

	// Programs are what client A does; by default Once, Twice and Nested in turn.
	Programs []Program

	// States is after how many states the explorer stops; default a million.
	States int

	// LeaseInValue reads the end of the lease from a key's value, for a lock
	// whose lease is not the key's expiry.
	LeaseInValue func(value string) (time.Time, bool)

	// Keys tells which keys stand for the lock, when it is not Env.Key itself.
	Keys func(key string) []string

	// Readers names a sorted set whose members are the readers of a lock.ReadWrite, each with
	// the end of its lease, in milliseconds, as its score.
	Readers func(key string) string

	// Turn names the key that keeps a free lock for one waiter, whose owner id is
	// its value, for a lock that has such turns. While the turn is another
	// process's, a waiter may wait for a timer, if the key has a lease.
	Turn func(key string) string
}

// limit is a bound of the adversary, and how people say it.
type limit struct {
	n         *int
	one, more string
}

// adversary are the adversary's bounds.
func (b *Bounds) adversary() []limit {
	return []limit{
		{&b.Expiries, "expiry", "expiries"},
		{&b.Timers, "timer", "timers"},
		{&b.Crashes, "crash", "crashes"},
		{&b.LostReplies, "lost reply", "lost replies"},
		{&b.Strays, "stray command", "stray commands"},
		{&b.Pauses, "pause", "pauses"},
		{&b.Errors, "error reply", "error replies"},
		{&b.LostMessages, "lost message", "lost messages"},
		{&b.GiveUps, "give-up", "give-ups"},
	}
}

// fill sets the defaults. Its error is one line about a bound that makes no sense.
func (b *Bounds) fill() error {
	for field, bound := range reflect.ValueOf(*b).Fields() {
		if bound.CanInt() && bound.Int() < 0 {
			return fmt.Errorf("the bound %s is %d, it must not be negative", field.Name, bound.Int())
		}
	}
	for value, standard := range map[*int]int{&b.Clients: 2, &b.Owners: 1, &b.Nodes: 1,
		&b.Attempts: attempts, &b.States: 1e6} {
		if *value == 0 {
			*value = standard
		}
	}
	if b.Clients > 26 || b.Owners > 26 || b.Nodes > 26 {
		return fmt.Errorf("%d clients, %d owners and %d nodes, each can be 26 at"+
			" most", b.Clients, b.Owners, b.Nodes)
	}
	if len(b.Programs) == 0 {
		b.Programs = []Program{Once, Twice, Nested}
	}
	for _, program := range b.Programs {
		if !slices.Contains(Programs, program) {
			return fmt.Errorf("there is no program %q, the programs are %s", program, Programs)
		}
		// The other programs ask what a command did to the grant of one owner, and whether the
		// lock has changed since that owner saw it. Both are known for the process only.
		if b.Owners > 1 && program != Wait {
			return fmt.Errorf("%d owners, and the program %q: several owners need"+
				" the program %q", b.Owners, program, Wait)
		}
	}
	return nil
}

// String names the bounds that are not zero: "2 clients, 1 expiry, 1 crash".
func (b Bounds) String() string {
	words := []string{plural(b.Clients, "client", "clients")}
	if b.Owners > 1 {
		words = append(words, plural(b.Owners, "owner", "owners")+" in A")
	}
	if b.Nodes > 1 {
		words = append(words, plural(b.Nodes, "node", "nodes"))
	}
	for _, limit := range b.adversary() {
		if *limit.n > 0 {
			words = append(words, plural(*limit.n, limit.one, limit.more))
		}
	}
	return strings.Join(append(words, plural(b.Attempts, "attempt", "attempts")), ", ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
