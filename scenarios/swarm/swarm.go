// Package swarm makes random worlds for a lock: who shares it, what each of them does,
// and what goes wrong meanwhile. The same seed makes the same story, on any machine.
//
// A world in which everything goes wrong shows less than many in each of which a few
// things do, so each story has faults of a few kinds only (Groce and others, "Swarm
// Testing", ISSTA 2012).
//
//	story := swarm.New(seed, n, swarm.Offers{Nodes: 1, Shared: true})
//	shortest := swarm.Shrink(story, breaks)
//
// A story is plain data. Package scenarios plays it, in virtual time, and judges it.
package swarm

import "time"

// Lease is the lease in which a story's times are told: ten seconds. With another one
// the whole story is faster or slower.
const Lease = 10 * time.Second

// Story is a world and all that happens in it.
type Story struct {
	Key       string
	Other     string        // the name of another lock; "" if there is none
	Lease     time.Duration // that the locks ask for
	Nodes     int
	Repeats   bool // the driver sends a command again that was not answered for 5 s
	Together  bool // all act at the same instants
	Fixed     bool // the locks are told not to renew their leases
	Patient   bool // they wait longer than usual for each of several nodes
	Processes []Process
	Faults    []Fault
}

// Process is a client with its connections, and the owners of the lock that share it.
type Process struct {
	Name   string
	Ahead  time.Duration // its clock
	Owners []Owner
}

// Owner is one handle on the lock, and what its goroutine does with it.
type Owner struct {
	Name  string
	Steps []Step
	Apart bool // its lock is the other one, for which nobody else asks
}

// Step is one thing that an owner does, some time after its last one.
type Step struct {
	After  time.Duration
	Verb   Verb
	Within time.Duration // then its context ends, or it writes what it has read; 0: Patience
	Ended  bool          // its context has ended before
	Anyway bool          // it unlocks, and has nothing to unlock
}

// Patience is when a context ends of which a story says nothing: a server may never
// answer.
const Patience = 3 * Lease / 2

// Verb is what a step does.
type Verb string

// The verbs are calls of the lock, and a read and a write of a storage that it guards.
const (
	TryLock  Verb = "TryLock"
	Lock     Verb = "Lock"
	Unlock   Verb = "Unlock"
	TryRLock Verb = "TryRLock"
	RLock    Verb = "RLock"
	RUnlock  Verb = "RUnlock"
	Write    Verb = "write"
)

// Kind is a kind of fault.
type Kind string

// The first kinds befall one command of a process, then a process, then a node. A process
// stops or is cut off at a moment, or after one of its commands was executed.
const (
	LateRequest Kind = "late request"
	LateReply   Kind = "late reply"
	LostRequest Kind = "lost request"
	LostReply   Kind = "lost reply"
	Hangs       Kind = "hangs"
	ErrorReply  Kind = "error reply"
	DiesBefore  Kind = "dies before"
	DiesAfter   Kind = "dies after"

	Dies   Kind = "dies"
	Stops  Kind = "stops"
	CutOff Kind = "cut off"

	Restart  Kind = "restart"
	Failover Kind = "failover"
	Flush    Kind = "scripts flushed"
	Deleted  Kind = "key deleted"
	Full     Kind = "memory full"
	Down     Kind = "down"
	Clock    Kind = "clock set forward"
	Errors   Kind = "errors"
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind    Kind
	Process string        // whose command, or which process
	Nth     int           // which of its commands, counted from 1
	Node    int           // which node, counted from 0
	At      time.Duration // when, where no command says it
	For     time.Duration // how long it lasts, or by how much
	Reply   string        // an error reply
}

// OfCommand says whether the fault befalls one command.
func (f Fault) OfCommand() bool { return f.Nth > 0 }
