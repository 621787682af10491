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
	Fixed  bool // it can be told not to renew its lease
}

const (
	milli  = time.Millisecond
	second = time.Second
)

// others are names that somebody may take for one of keys.
var others = map[string]string{"lock:stock": "LOCK:STOCK", "Lock:STOCK": "lock:stock",
	"the stock": "the_stock", "{a}b": "{a}c", "a}b": "a}{b", "50%d": "50%s"}

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
	ofProcesses = []Kind{Dies, Stops, CutOff}
	ofNodes     = []Kind{Restart, Failover, Flush, Deleted, Full, Down, Clock, Errors}
)

// New makes the n-th story of a seed, for a lock that offers this.
func New(seed, n uint64, offers Offers) Story {
	g := generator{rand.New(rand.NewPCG(seed, n)), offers}
	s := Story{Key: pick(g, keys...), Lease: pick(g, leases...),
		Nodes: max(offers.Nodes, 1), Repeats: g.chance(0.1), Together: g.chance(0.15),
		Fixed: offers.Fixed && g.chance(0.05)}
	for p := range min(pick(g, 1, 2, 2, 2, 2, 3, 4), g.most()) {
		s.Processes = append(s.Processes, g.process(string(rune('A'+p))))
	}
	if g.chance(0.1) {
		s.alike()
	}
	if g.chance(0.15) {
		g.addOther(&s)
	}
	s.Faults = g.faults(s)
	if s.Nodes > 1 && g.chance(0.1) {
		g.addUp(&s)
	}
	if s.Has(LateRequest) { // it finds no lock anymore in what follows
		return s
	}
	if s.Other != "" && g.chance(0.4) { // the loss of one lock is not the other's
		s.Faults = []Fault{{Kind: Deleted, At: g.moment()}}
	}
	if g.chance(0.15) {
		s.lasts(g)
	}
	return s
}

// lasts has each owner work for many leases: only then a renewal shows that has ended, or that one error slows for good.
func (s *Story) lasts(g generator) {
	if p := &s.Processes[0]; g.chance(0.3) { // nobody else is there to send commands
		p.Owners = []Owner{{Name: p.Name, Steps: []Step{{Verb: Lock}, {Verb: Unlock}}}}
		s.Processes, s.Faults, s.Other = s.Processes[:1], nil, ""
		for nth := 3 + g.IntN(2); nth < 20; nth += 3 + g.IntN(2) { // an unknown script takes two commands
			s.Faults = append(s.Faults, Fault{Kind: ErrorReply, Process: p.Name, Nth: nth, Reply: pick(g, errorReplies...)})
		}
	}
	for _, p := range s.Processes {
		for _, o := range p.Owners {
			if i := slices.IndexFunc(o.Steps, func(s Step) bool { return s.Verb == Unlock }); i >= 0 {
				o.Steps[i].After = g.between(2*Lease, 6*Lease)
			}
		}
	}
}

// addUp has replies come late, to the first attempt of a process or to what follows too: none
// exceeds the node timeout, and together they take about a lease.
func (g generator) addUp(s *Story) {
	first := &s.Processes[0]
	first.Owners = first.Owners[:1]
	first.Owners[0].Steps = slices.Insert(first.Owners[0].Steps, 0, Step{Verb: TryLock})
	s.Patient, s.Faults = true, nil
	late := pick(g, g.between(Lease*99/100, Lease*101/100), g.between(Lease, 4*Lease/3))
	commands := s.Nodes * pick(g, 1, 2)
	for nth := 1; nth <= commands; nth++ {
		s.Faults = append(s.Faults, Fault{Kind: LateReply, Process: first.Name, Nth: nth,
			For: late / time.Duration(commands)})
	}
}

// alike has all owners do what the first one does.
func (s *Story) alike() {
	for i, p := range s.Processes {
		for j := range p.Owners {
			s.Processes[i].Owners[j].Steps = s.Processes[0].Owners[0].Steps
		}
	}
}

// addOther gives a process an owner of another lock.
func (g generator) addOther(s *Story) {
	s.Other = others[s.Key]
	p := &s.Processes[g.IntN(len(s.Processes))]
	g.offers.Nested, g.offers.Shared = false, false
	p.Owners = append(p.Owners, Owner{Name: p.Name + "'", Steps: g.steps(), Apart: true})
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
		p.Owners = append(p.Owners, Owner{Name: owner, Steps: g.steps()})
	}
	return p
}

// work is how long somebody works: from no time to more than a lease, and now and then
// to many leases.
func (g generator) work() time.Duration {
	if g.chance(0.05) {
		return g.between(2*Lease, 5*Lease)
	}
	return pick(g, 0, 0, g.between(milli, second), g.between(second, Lease), Lease,
		g.between(Lease, 2*Lease))
}

// steps are some critical sections, in which an owner may forget or repeat what it should
// not.
func (g generator) steps() (steps []Step) {
	for range pick(g, 1, 1, 2, 2, 3) {
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

// section is a critical section, with others inside at times.
func (g generator) section() (steps []Step) {
	lock := Step{Verb: pick(g, TryLock, Lock, Lock),
		After: pick(g, 0, 0, g.between(0, second), g.between(0, 2*Lease), Lease)}
	unlock := Unlock
	if g.offers.Shared && g.chance(0.4) {
		lock.Verb, unlock = pick(g, TryRLock, RLock, RLock), RUnlock
	}
	lock.Within, lock.Ended = g.within(), g.chance(0.02)
	steps = append(steps, lock)
	unlocks := []Verb{unlock}
	for g.chance(0.25) {
		lock.After, lock.Within = g.work(), g.within()
		switch {
		case !g.offers.Nested: // it is refused, and that must change nothing
			lock.Verb = TryLock
			steps = append(steps, lock)
			continue
		case g.offers.Shared && g.chance(0.4): // a writer reads, or a reader would write
			lock.Verb, unlock = pick(g, TryRLock, RLock), RUnlock
			if unlocks[0] == RUnlock {
				lock.Verb, unlock = pick(g, TryLock, Lock), Unlock
			}
		}
		steps, unlocks = append(steps, lock), append(unlocks, unlock)
	}
	for range g.writes(unlocks) {
		steps = append(steps, Step{After: g.work(), Verb: Write, Within: g.work()})
	}
	if g.chance(0.1) {
		return steps // it forgets to unlock
	}
	g.Shuffle(len(unlocks), func(i, j int) { unlocks[i], unlocks[j] = unlocks[j], unlocks[i] })
	for _, unlock := range unlocks {
		steps = append(steps, Step{After: g.work(), Verb: unlock, Within: g.within(),
			Ended: g.chance(0.1)})
	}
	return steps
}

// writes is how often a section writes to the storage. Where some sections only read, those
// that write do so more often: tokens that fall are seen by a storage that knows greater ones.
func (g generator) writes(unlocks []Verb) int {
	switch {
	case !g.offers.Shared:
		return pick(g, 0, 0, 0, 1, 1, 2)
	case slices.Contains(unlocks, Unlock):
		return pick(g, 1, 1, 2)
	}
	return 0
}

// within is when the context of a call ends, if that isn't as usual: while a command is
// under way, before it is late, or at any time.
func (g generator) within() time.Duration {
	if !g.chance(0.15) {
		return 0
	}
	return pick(g, 700*time.Microsecond, g.between(milli, second), g.between(milli, 2*Lease))
}

// faults are a few, of a few kinds.
func (g generator) faults(s Story) (faults []Fault) {
	kinds := slices.Concat(ofCommands, ofCommands, ofProcesses, ofProcesses, ofNodes)
	g.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds[:pick(g, 0, 1, 1, 1, 2, 3)] {
		for range pick(g, 1, 1, 2) {
			f := g.fault(kind, s)
			faults = append(faults, f)
			for range g.others(f) {
				if f.OfCommand() {
					f.Nth++
				} else {
					f.Node = (f.Node + 1) % s.Nodes
				}
				faults = append(faults, f)
			}
		}
	}
	return faults
}

// others is how many further nodes a fault befalls, or how many of the commands that
// follow.
func (g generator) others(f Fault) int {
	switch {
	case slices.Contains(ofProcesses, f.Kind), f.Kind == Errors:
		return 0
	case g.offers.Nodes > 1:
		return g.IntN(g.offers.Nodes)
	case f.OfCommand():
		return pick(g, 0, 0, 1, 3)
	}
	return 0
}

// moment is when something happens: at any time, or when something may happen anyway.
func (g generator) moment() time.Duration {
	return pick(g, g.between(0, 2*Lease), g.between(0, 2*Lease),
		pick(g, Lease/3, 2*Lease/3, Lease)+g.between(0, 30*milli))
}

func (g generator) fault(kind Kind, s Story) Fault {
	f := Fault{Kind: kind, At: g.moment()}
	if slices.Contains(ofNodes, kind) {
		f.Node = g.IntN(s.Nodes)
	} else {
		f.Process = pick(g, s.Processes...).Name
	}
	if slices.Contains(ofCommands, kind) || f.Process != "" && kind != Dies && g.chance(0.5) {
		f.At, f.Nth = 0, 1+g.IntN(s.Nodes)+s.Nodes*pick(g, 0, 1, 1, 2, g.IntN(6), g.IntN(12))
	}
	switch kind {
	case LateRequest, LateReply, Stops, CutOff, Down, Errors:
		f.For = pick(g, g.between(10*milli, second), g.between(second, Lease),
			g.between(Lease, 3*Lease/2), g.between(Lease, 2*Lease))
	case Clock:
		f.For = g.between(second, 2*Lease)
	}
	if kind == ErrorReply || kind == Errors {
		f.Reply = pick(g, errorReplies...)
	}
	return f
}
