package bench

import (
	"time"

	"github.com/lockladder/lockladder/lock"
)

// The settings of a run for which nothing else was asked.
const (
	DefaultClients = 1000
	DefaultStock   = 100
	DefaultTTL     = 10 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultGrace   = 20 * time.Second
)

// Settings say what is measured. Each process that clients live in is given all
// of them. Inventory checks those that a user has given.
type Settings struct {
	Clients int           // at least 1
	Stock   int           // at least 0
	TTL     time.Duration // the lease, at least 1 ms
	Poll    time.Duration // the longest pause of a refused client, 0: see Pause
	Timeout time.Duration // bounds one round of a row, above 0

	// Grace is how long after its end a row waits for clients that have not
	// returned; they are then left behind. Only a lock that does not end with
	// its context needs it.
	Grace time.Duration

	// FixedPoll makes every pause of a refused client as long as the longest.
	FixedPoll bool

	// Ops is how many turns a client takes one after the other, 0 means 1.
	// Loop makes it take turns until that time is over instead.
	Ops  int
	Loop time.Duration

	// Rounds is how often a row is measured, 0 means once. More rounds
	// alternate with the serial limit.
	Rounds int

	// Seed decides on the jitter and the tokens of all; 0 leaves them to chance.
	Seed uint64

	// Apart is the time between the starts of two clients. With 0 all start
	// at one instant.
	Apart time.Duration
}

// Pause is the longest pause of a refused client in a row of the subject: Poll,
// or if that is 0 the subject's, or else [wukong]'s, and on embedded servers at
// least a millisecond for each client and node. A script costs such a server some
// 100 µs, and 1000 clients that ask every 50 ms leave it no time for the one that
// has the lock; on several nodes they also take them from each other. There, it is
// at least 200 µs for each client and node on real servers too.
func (s Settings) Pause(subject Subject, embedded bool) time.Duration {
	each := 200 * time.Microsecond
	if embedded {
		each = time.Millisecond
	}
	switch {
	case s.Poll > 0:
		return s.Poll
	case subject.Poll > 0:
		return subject.Poll
	case embedded || subject.Nodes > 1:
		return max(lock.DefaultPoll,
			time.Duration(s.Clients*max(subject.Nodes, 1))*each)
	}
	return lock.DefaultPoll
}

// enough is how many turns of the serial limit other rows are compared with, at
// least: a handful says nothing.
const enough = 1000

// size is how many turns all clients take together in a round, and how many
// units they share. Where others are compared with it, the serial limit takes
// more turns than they do when they are few, with a stock to match.
func (s Settings) size(subject Subject) (turns, stock int) {
	turns, stock = s.Clients*max(s.Ops, 1), s.Stock
	if isSerialLimit(subject) && s.Rounds > 1 && turns < enough {
		stock, turns = stock*enough/turns, enough
	}
	return turns, stock
}

// limit is when a round ends at the latest.
func (s Settings) limit() time.Duration {
	if s.Loop > 0 {
		return min(s.Loop, s.Timeout)
	}
	return s.Timeout
}
