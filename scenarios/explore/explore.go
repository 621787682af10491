// Package explore covers every schedule of a lock's real code, within bounds.
//
// A few clients lock, read a counter in a storage, write it back, and unlock. All
// that they send, and all that they are answered, waits until the explorer lets it
// arrive; the clock stands still until the explorer moves it. It tries every
// order: of commands, replies and requests to the storage, of leases that end,
// clients that die, replies that are lost and processes that stop. For each
// invariant it finds the cheapest schedule that breaks it, with the least bad luck
// and then the fewest steps, or it says how many schedules it has exhausted without
// one.
//
// Each run is the lock's code from its first command on, with a real driver, against
// Redis in the same process, in virtual time. Most schedules need no run. Two runs
// that reach the same state go on in the same way, so one of them is enough; the state
// of a client is the list of the answers it got, and when. Two actions that touch
// nothing of each other lead to the same state in either order, so one order is
// enough. An answer to one client has the same effect whatever the others are doing.
// And clients that differ in nothing but their names may be exchanged. docs/explorer.md
// explains how to read the output.
package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/lock"
)

// Invariant is something that no schedule should break.
type Invariant string

// The invariants, each of them judged apart.
const (
	// Orphaned: the owner of a grant has died, or is done, nothing of it is on
	// its way, and no lease ends the grant.
	Orphaned Invariant = "orphaned"

	// ForeignRelease: a command has removed, taken over or shortened a grant
	// that it can't have meant, because the grant is another client's or began
	// after the command was sent, while its lease was running.
	ForeignRelease = Invariant(lab.ForeignRelease)

	// ForeignRenewal: a command has extended such a grant.
	ForeignRenewal = Invariant(lab.ForeignRenewal)

	// TwoHolders: two clients believe they hold the lock, and neither was told
	// that its lease is gone.
	TwoHolders = Invariant(lab.TwoHolders)

	// LostUpdate: the storage has accepted a write by a client that had not seen
	// the write before it.
	LostUpdate = Invariant(lab.LostUpdate)

	// SelfDeadlock: a client waits for a grant of its own, and nothing of it is
	// on its way.
	SelfDeadlock Invariant = "self-deadlock"

	// StaleWrite: the storage has accepted a write although a later holder had
	// read it or written to it.
	StaleWrite = Invariant(lab.StaleWrite)

	// FalseSuccess: TryLock returned true when no majority of the servers had the
	// client's grant, or Unlock returned nil and has freed no grant of its own.
	FalseSuccess Invariant = "false success"

	// LostWakeUp: a client waits inside Lock, the lock is free, and nothing is on
	// its way that could wake it. A timer counts only when no message was due, or
	// when it is known to be lost; see Bounds.Turn.
	LostWakeUp Invariant = "lost wake-up"
)

// Invariants are all of them, in the order in which they are shown.
var Invariants = []Invariant{Orphaned, ForeignRelease, ForeignRenewal, TwoHolders,
	LostUpdate, SelfDeadlock, StaleWrite, FalseSuccess, LostWakeUp}

const (
	key      = "lock:stock"
	lease    = 10 * time.Second
	attempts = 5 // of a client, when the bounds do not say
)

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

	// Readers names a sorted set whose members are the readers of a
	// lock.ReadWrite, each with the end of its lease, in milliseconds, as its
	// score.
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
		{&b.LostMessages, "lost message", "lost messages"},
		{&b.GiveUps, "give-up", "give-ups"},
	}
}

// fill sets the defaults. Its error is one line about a bound that makes no sense.
func (b *Bounds) fill() error {
	for field, bound := range reflect.ValueOf(*b).Fields() {
		if bound.CanInt() && bound.Int() < 0 {
			return fmt.Errorf("the bound %s is %d, it must not be negative",
				field.Name, bound.Int())
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
			return fmt.Errorf("there is no program %q, the programs are %s",
				program, Programs)
		}
		// The other programs ask what a command did to the grant of one owner, and
		// whether the lock has changed since that owner saw it. Both are known for
		// the process only.
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
	return strings.Join(append(words, plural(b.Attempts, "attempt", "attempts")),
		", ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Failure is the cheapest schedule that breaks an invariant.
type Failure struct {
	Schedule  string // for Replay
	Adversary int    // how much of the adversary's budget it takes
	Steps     int    // its length, the adversary's actions included
	Event     string // what broke the invariant
}

// Walk is what was found with one program.
type Walk struct {
	Program   Program
	Found     map[Invariant]Failure
	States    int
	Edges     int
	Runs      int  // of the lock's code
	Steps     int  // actions taken in them
	Inferred  int  // edges known from other edges, see infer
	Exchanged int  // edges known from those of other clients, see connect
	Stopped   bool // at Bounds.States, before everything was seen
	GaveUp    bool // a client has asked as often as Bounds.Attempts

	bounds    Bounds
	graph     []*state
	schedules func() *big.Int // counted once: a large graph takes a second
	drawn     Graph           // if it is recorded

	granted bool   // some client was granted the lock
	refusal string // what the first call returned that was refused
	hidden  string // what shows that the lock keeps something out of sight
}

// has adds what another world has found.
func (w *Walk) has(found Walk) {
	w.GaveUp = w.GaveUp || found.GaveUp
	w.granted = w.granted || found.granted
	w.refusal = cmp.Or(w.refusal, found.refusal)
	w.hidden = cmp.Or(w.hidden, found.hidden)
}

// unfit is why the walk says nothing of the lock, or nil.
func (w *Walk) unfit() error {
	switch {
	case !w.granted && len(w.Found) == 0:
		return fmt.Errorf("no client was granted the lock in any schedule of the program"+
			" %s: %s", w.Program, cmp.Or(w.hidden, w.refusal,
			"no call of the lock returns"))
	case w.hidden != "":
		return errors.New(w.hidden)
	}
	return nil
}

// Schedules is how many schedules there are from the beginning to an end. When the
// walk was stopped, it counts those that were seen.
func (w Walk) Schedules() *big.Int { return new(big.Int).Set(w.schedules()) }

// Share is how many schedules there are, and how many of them break an invariant.
func (w Walk) Share(invariant Invariant) (schedules, failing *big.Int) {
	all := w.Schedules()
	return all, new(big.Int).Sub(all, count(w.graph, breaks(invariant)))
}

// Chance is how likely it is that a schedule breaks an invariant when each of its
// actions is picked at random from those that are possible.
func (w Walk) Chance(invariant Invariant) float64 {
	return chance(w.graph, breaks(invariant))
}

func breaks(invariant Invariant) func([]Breach) bool {
	return func(broken []Breach) bool {
		return slices.ContainsFunc(broken, func(b Breach) bool {
			return b.Invariant == invariant
		})
	}
}

// Report is what was found with each program.
type Report struct {
	Bounds Bounds
	Walks  []Walk
}

// Failure is the cheapest schedule of all programs that breaks an invariant.
func (r Report) Failure(invariant Invariant) (Failure, bool) {
	var cheapest Failure
	found := false
	for _, walk := range r.Walks {
		f, ok := walk.Found[invariant]
		if ok && (!found || cost{f.Adversary, f.Steps}.compare(
			cost{cheapest.Adversary, cheapest.Steps}) < 0) {
			cheapest, found = f, true
		}
	}
	return cheapest, found
}

// Judged are the invariants that the programs can break: waiting inside Lock is
// judged where Lock is called, and self-deadlocks where TryLock is.
func (r Report) Judged() []Invariant {
	return slices.DeleteFunc(slices.Clone(Invariants), func(i Invariant) bool {
		return i == LostWakeUp && !r.walks(Wait, true) ||
			i == SelfDeadlock && !r.walks(Wait, false)
	})
}

// walks says whether there is a walk with the program, or with another one.
func (r Report) walks(program Program, with bool) bool {
	return slices.ContainsFunc(r.Walks, func(w Walk) bool {
		return (w.Program == program) == with
	})
}

// Exhausted says whether everything within the bounds was seen.
func (r Report) Exhausted() bool {
	return !slices.ContainsFunc(r.Walks, func(w Walk) bool { return w.Stopped })
}

// String is the report for people: the walks, and for each invariant the cheapest
// failing schedule or that there is none.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Bounds)
	for _, w := range r.Walks {
		what := "exhausted"
		if w.Stopped {
			what = "stopped at"
		}
		fmt.Fprintf(&b, "  %-7s %s %v schedules in %d states, %d runs", w.Program,
			what, w.Schedules(), w.States, w.Runs)
		if w.GaveUp {
			fmt.Fprintf(&b, "; a client gave up after %s",
				plural(r.Bounds.Attempts, "attempt", "attempts"))
		}
		fmt.Fprintln(&b)
	}
	for _, invariant := range r.Judged() {
		f, found := r.Failure(invariant)
		switch {
		case found:
			fmt.Fprintf(&b, "  %-15s breaks: adversary %d, steps %d: %s\n",
				invariant, f.Adversary, f.Steps, f.Schedule)
		case r.Exhausted():
			fmt.Fprintf(&b, "  %-15s holds: exhausted\n", invariant)
		default:
			fmt.Fprintf(&b, "  %-15s not found: stopped\n", invariant)
		}
	}
	return b.String()
}

// Run walks every schedule of the locks that build makes, within the bounds. It
// reports, and doesn't judge: the invariants that the schedules break are in the report,
// and it is for the test to fail because of them. Run itself fails the test only when
// there is nothing to report: when bounds make no sense, the graphs can't be recorded, the
// lock can't be built, panics, leaks, is never granted, sets none of the keys that stand
// for it, or does not do the same thing twice. With go test's -v it logs every ten seconds
// how far it has come.
func Run(t *testing.T, build lock.Build, bounds Bounds, options ...Option) Report {
	t.Helper()
	report, err := recorded(t, build, bounds, options...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// recorded explores, and records what it is told to.
func recorded(t *testing.T, build lock.Build, bounds Bounds, options ...Option) (
	Report, error) {
	t.Helper()
	var s settings
	for _, set := range options {
		set(&s)
	}
	if s.dir == "" {
		return explore(t, build, bounds, true, search)
	}
	if err := recording.Writable(s.dir); err != nil {
		return Report{}, fmt.Errorf("the graphs can't be recorded: %w", err)
	}
	report, err := explore(t, build, bounds, true, draw)
	if err == nil {
		err = s.record(t, report)
	}
	return report, err
}

// explore walks in a world of its own. Reduced says that a known effect need not be
// tried again: that of a script, of two actions in their other order, and of one
// client's action while the others were at another point.
func explore(t *testing.T, build lock.Build, bounds Bounds, reduced bool,
	how func(*run) (Walk, error)) (Report, error) {
	t.Helper()
	report := Report{}
	beside := openBeside(t, build, bounds, reduced)
	defer beside.close()
	var walked progress
	defer walked.tell(10*time.Second, t.Log)()
	err := inWorld(t, build, bounds, reduced, func(r *run) error {
		report.Bounds, r.beside, r.walked = r.bounds, beside, &walked
		for _, program := range r.bounds.Programs {
			r.program, r.found = program, Walk{}
			walk, err := how(r)
			walk.has(r.found)
			if errors.Is(err, errDiverged) && walk.hidden != "" {
				err = fmt.Errorf("%w; %s", err, walk.hidden)
			}
			if err != nil {
				return err
			}
			report.Walks = append(report.Walks, walk)
		}
		return nil
	})
	for i := range report.Walks {
		walk := &report.Walks[i]
		if walk.graph != nil {
			walk.Found = cheapest(*walk)
		}
		err = cmp.Or(err, walk.unfit())
	}
	return report, err
}

// inWorld makes a world with warm clients and takes it down.
func inWorld(t *testing.T, build lock.Build, bounds Bounds, reduced bool,
	do func(*run) error) error {
	t.Helper()
	if err := bounds.fill(); err != nil {
		return err
	}
	config := lab.Config{Nodes: bounds.Nodes, Key: key, TTL: lease}
	if bounds.Keys != nil {
		config.Keys = bounds.Keys(key)
	}
	if bounds.Readers != nil {
		config.Readers = bounds.Readers(key)
	}
	r := &run{control: control(&config, reduced), build: build, bounds: bounds,
		reduced: reduced,
		silence: map[moment]time.Duration{}, finished: map[moment]bool{}}
	if read := bounds.LeaseInValue; read != nil {
		// The clients' clocks say the same at the beginning of every run.
		config.LeaseEnd = func(value string) (time.Time, bool) {
			end, ok := read(value)
			return end.Add(r.ahead), ok
		}
	}
	var failed error
	err := lab.Run(t, config, func(w *lab.World) {
		r.world, r.epoch = w, time.Now()
		r.control.open(w, bounds.Clients)
		r.clients = r.control.clients
		defer r.end()
		if failed = r.warm(); failed == nil {
			failed = do(r)
		}
	})
	return errors.Join(err, failed)
}

// warm lets every client take and release another lock, so that the nodes know
// the lock's scripts.
func (r *run) warm() (err error) {
	r.control.warm(func(c *client) {
		if err != nil {
			return // the others would say the same
		}
		defer func() {
			if p := recover(); p != nil {
				err = order.Panicked(c.Name, p)
			} else if err == nil {
				err = r.failed() // the world forgets it afterwards
			}
		}()
		name := key + ":warm:" + c.Name
		l, failed := lab.Build(r.build, c.Env(name))
		if failed != nil {
			err = failed
			return
		}
		ctx := context.Background()
		if granted, _ := l.TryLock(ctx); granted {
			if err = r.hasKey(name); err != nil {
				return
			}
		}
		l.TryLock(ctx)
		c.Sleep(lease * 2 / 5) // long enough for a renewal
		l.Unlock(ctx)
		l.Unlock(ctx)
		if rw, ok := l.(lock.ReadWrite); ok {
			rw.TryRLock(ctx)
			rw.RUnlock(ctx)
		}
	})
	return err
}

// hasKey is an error if the lock of a name is granted and none of the keys that stand for
// it is on a node.
func (r *run) hasKey(name string) error {
	keys := []string{name}
	if of := r.bounds.Keys; of != nil {
		keys = of(name)
	}
	var there []string
	for n := range r.world.Nodes {
		there = append(there, r.control.server(n).Keys()...)
	}
	switch {
	case len(there) == 0:
		return errors.New("the lock was granted, and no node has a key: build it on" +
			" the clients in Env.Nodes, or on Env.Dial")
	case !slices.ContainsFunc(keys, func(k string) bool {
		return slices.Contains(there, k)
	}):
		slices.Sort(there)
		return fmt.Errorf("the lock was granted, but no client set the key %q: say"+
			" which keys stand for the lock, with Bounds.Keys (there are %q)", keys[0],
			slices.Compact(there))
	}
	return nil
}
