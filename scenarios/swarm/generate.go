package swarm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Offers is what a lock offers besides lock.Lock.
type Offers struct {
	Nodes  int  // that it takes
	Nested bool // the same handle may lock again
	Shared bool // it is a lock.ReadWrite
}

const (
	milli  = time.Millisecond
	second = time.Second
)

var (
	keys = []string{"lock:stock", "lock:stock", "the stock", "{a}b", "a}b", "50%d",
		"Lock:STOCK"}
	leases = []time.Duration{Lease, Lease, Lease, 300 * milli, 1500 * milli, 30 * second}

	// errorReplies are what servers answer to a command that they don't execute.
	errorReplies = []string{
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots, but can't.",
		"READONLY You can't write against a read only replica.",
		"NOPERM this user has no permissions to run the command",
		"BUSY Redis is busy running a script.",
		"LOADING Redis is loading the dataset in memory",
		"NOAUTH Authentication required.",
		"ERR something that nobody knows",
	}

	ofCommands = []Kind{LateRequest, LateReply, LostRequest, LostReply, Hangs, ErrorReply,
		DiesBefore, DiesAfter}
	ofProcesses = []Kind{Dies, Stops}
	ofNodes     = []Kind{Restart, Failover, Flush, Deleted, Full, Down, Clock}
)

// New makes the n-th story of a seed, for a lock that offers this.
func New(seed, n uint64, offers Offers) Story {
	g := generator{rand.New(rand.NewPCG(seed, n)), offers}
	s := Story{Key: pick(g, keys...), Lease: pick(g, leases...),
		Nodes: max(offers.Nodes, 1), Repeats: g.chance(0.1)}
	for p := range min(pick(g, 1, 2, 2, 2, 2, 3, 4), g.most()) {
		s.Processes = append(s.Processes, g.process(string(rune('A'+p))))
	}
	s.Faults = g.faults(s)
	return s
}

// generator makes the parts of a story.
type generator struct {
	*rand.Rand
	offers Offers
}

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

// most is how many processes there are, and owners in one: an attempt on several nodes
// takes many commands.
func (g generator) most() int {
	if g.offers.Nodes > 1 {
		return 2
	}
	return 4
}

func (g generator) chance(p float64) bool { return g.Float64() < p }

func (g generator) between(from, to time.Duration) time.Duration {
	return (from + time.Duration(g.Int64N(int64(to-from)))).Truncate(milli)
}

func (g generator) process(name string) Process {
	p := Process{Name: name}
	if g.chance(0.05) {
		p.Ahead = g.between(-15*second, 15*second)
	}
	owners := min(pick(g, 1, 1, 1, 1, 2, 3), g.most())
	for o := range owners {
		owner := name
		if owners > 1 {
			owner = fmt.Sprintf("%s%d", name, o+1)
		}
		p.Owners = append(p.Owners, Owner{owner, g.steps()})
	}
	return p
}

// work is how long somebody works: from no time to more than a lease.
func (g generator) work() time.Duration {
	return pick(g, 0, 0, g.between(milli, second), g.between(second, Lease), Lease,
		g.between(Lease, 2*Lease))
}

// steps are some critical sections, in which an owner may forget or repeat what it should
// not.
func (g generator) steps() (steps []Step) {
	for range pick(g, 1, 1, 1, 2, 3) {
		if g.chance(0.1) {
			steps = append(steps, Step{Verb: Unlock, Anyway: true})
		}
		steps = append(steps, g.section()...)
		if g.chance(0.1) {
			steps = append(steps, Step{After: g.work(), Verb: Unlock, Anyway: true})
		}
	}
	return steps
}

// section is a critical section, with one inside at times.
func (g generator) section() (steps []Step) {
	lock := Step{After: pick(g, 0, 0, g.between(0, second), g.between(0, 2*Lease)),
		Verb: pick(g, TryLock, Lock, Lock)}
	unlock := Unlock
	if g.offers.Shared && g.chance(0.5) {
		lock.Verb, unlock = pick(g, TryRLock, RLock, RLock), RUnlock
	}
	if g.chance(0.15) {
		lock.Within = g.between(milli, 2*Lease)
	}
	lock.Ended = g.chance(0.02)
	steps = append(steps, lock)
	unlocks := []Verb{unlock}
	if g.offers.Nested && g.chance(0.3) {
		lock.After = g.work()
		if unlock == Unlock && g.offers.Shared && g.chance(0.5) { // a writer reads
			lock.Verb, unlock = pick(g, TryRLock, RLock), RUnlock
		}
		steps, unlocks = append(steps, lock), append(unlocks, unlock)
	}
	for range pick(g, 0, 0, 0, 1, 1, 2) {
		steps = append(steps, Step{After: g.work(), Verb: Write, Within: g.work()})
	}
	if g.chance(0.1) {
		return steps // it forgets to unlock
	}
	for _, unlock := range unlocks {
		steps = append(steps, Step{After: g.work(), Verb: unlock, Ended: g.chance(0.1)})
	}
	return steps
}

// faults are a few, of a few kinds.
func (g generator) faults(s Story) (faults []Fault) {
	kinds := slices.Concat(ofCommands, ofProcesses, ofNodes)
	g.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds[:pick(g, 0, 1, 1, 1, 2, 3)] {
		for range pick(g, 1, 1, 2) {
			f := g.fault(kind, s)
			faults = append(faults, f)
			for range g.others(kind) { // at the same time
				f.Node = (f.Node + 1) % s.Nodes
				faults = append(faults, f)
			}
		}
	}
	return faults
}

// others is how many further nodes a fault befalls.
func (g generator) others(kind Kind) int {
	if g.offers.Nodes < 2 || !slices.Contains(ofNodes, kind) {
		return 0
	}
	return g.IntN(g.offers.Nodes)
}

func (g generator) fault(kind Kind, s Story) Fault {
	f := Fault{Kind: kind}
	switch {
	case slices.Contains(ofNodes, kind):
		f.Node, f.At = g.IntN(s.Nodes), g.between(0, 2*Lease)
	case slices.Contains(ofProcesses, kind):
		f.Process, f.At = pick(g, s.Processes...).Name, g.between(0, 2*Lease)
	default:
		f.Process, f.Nth = pick(g, s.Processes...).Name, 1+g.IntN(6)
	}
	switch kind {
	case LateRequest, LateReply, Stops, Down:
		f.For = pick(g, g.between(10*milli, second), g.between(second, Lease),
			g.between(Lease, 2*Lease))
	case Clock:
		f.For = g.between(second, 2*Lease)
	case ErrorReply:
		f.Reply = pick(g, errorReplies...)
	}
	return f
}
