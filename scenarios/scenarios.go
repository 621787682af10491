// Package scenarios runs the shared scenarios against any lock. Each of them is
// a short script of a few clients, with invariants of its own: a crash while
// the lock is held, work that takes longer than the lease, a slow reply, a
// failover.
//
// Run them against your own lock with Run. Time is virtual and the network is
// the lab's, so that the whole catalogue takes well under a second.
package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/site/play"
	"github.com/lockladder/lockladder/lock"
)

// The types that a lock of your own needs. Its errors and a rung's options are in
// package lock.
type (
	Lock         = lock.Lock         // what a lock must offer
	Fenced       = lock.Fenced       // what it may offer: Token
	LossNotifier = lock.LossNotifier // what it may offer: Lost
	ReadWrite    = lock.ReadWrite    // what it may offer: RLock, RUnlock
	Env          = lock.Env          // what it is built from
	Build        = lock.Build        // how it is built
	Flaw         = lock.Flaw         // what it is known to break

	// Entry is one line of a timeline.
	Entry = lab.Entry

	// RealServer is a server that scenarios may run on; OwnServer is one that
	// may be killed, stopped and restarted for them.
	RealServer = lab.Server
	OwnServer  = lab.OwnServer

	// RealServers lends servers to scenarios that run at the same time.
	RealServers = lab.Pool

	// Store is a server of another kind than Redis. Locks on it are built
	// without Nodes, and connect with Env.Dial. OwnStore is one that may be
	// killed, stopped and restarted; Frames cut its protocol.
	Store    = lab.Store
	OwnStore = lab.OwnStore
	Frames   = lab.Frames
)

// The invariants of the scenarios.
const (
	TwoHolders     = lab.TwoHolders     // two clients believe they hold the lock
	ForeignRelease = lab.ForeignRelease // a command ends another one's grant
	ForeignRenewal = lab.ForeignRenewal // a renewal reaches another one's grant
	LostUpdate     = lab.LostUpdate     // a write destroys one it had not seen
	StaleWrite     = lab.StaleWrite     // a write comes after a later holder's

	Orphaned           = "orphaned"             // free, yet nobody can have it
	FalseLoss          = "false loss"           // lost, or said to be, without need
	SelfDeadlock       = "self-deadlock"        // the owner waits for itself
	NotTold            = "not told"             // the holder learns nothing of its loss
	FalseSuccess       = "false success"        // an answer that the server denies
	WrongToken         = "wrong token"          // the fencing token is not the grant's
	RenewalAfterUnlock = "renewal after unlock" // something is sent for a lock given back
	Unavailable        = "unavailable"          // refused, though it could be granted
	Hangs              = "hangs"                // no answer in bounded time
	LeftBehind         = "left behind"          // a key that no expiry removes
	BusyWaiting        = "busy waiting"         // a waiter sends more than it need
	WrongLease         = "wrong lease"          // the lease is not the one asked for
	LateWakeUp         = "late wake-up"         // released, and a waiter sleeps on
	Herd               = "thundering herd"      // one release, and all waiters ask
	Starvation         = "starvation"           // others get in again and again
)

// Feature is something that a lock may decline to offer.
type Feature string

// The features that scenarios ask for.
const (
	Reentry     Feature = "re-entry" // lock again through the same handle
	Renewal     Feature = "renewal"  // the lease is renewed while the lock is held
	LossNotices Feature = "lost"     // Lost, see LossNotifier

	// FixedLeases says that the option FixedLease turns renewal off.
	FixedLeases Feature = "fixed lease"
)

var features = []Feature{Reentry, Renewal, LossNotices, FixedLeases}

// Verdict is the outcome of a scenario for one invariant.
type Verdict string

// The verdicts.
const (
	Holds        Verdict = "holds"
	Breaks       Verdict = "breaks"
	DoesNotArise Verdict = "does not arise" // the scenario could not happen
	NotOffered   Verdict = "not offered"    // it needs a declined feature
	CannotRun    Verdict = "can't be run"   // not on a real server
)

// Result is what one scenario says of one invariant.
type Result struct {
	Scenario  string
	Invariant string
	Verdict   Verdict
	Event     string   // what broke it: when, who, which command
	Timeline  string   // all that was recorded, in the run that was judged
	Sequence  []*Entry // the same, a line each
	BrokenAt  int      // the index in Sequence of the entry that broke it

	shown timeline // of one that breaks

	Asked []Feature // the features that the scenario asked the lock for
}

// Report has the results in the order of the catalogue.
type Report []Result

// Verdict looks up one result; it is empty when there is none.
func (r Report) Verdict(scenario, invariant string) Verdict {
	for _, result := range r {
		if result.Scenario == scenario && result.Invariant == invariant {
			return result.Verdict
		}
	}
	return ""
}

// Option says something about the lock that is run.
type Option func(*settings)

type settings struct {
	nodes     int
	only      []string // the scenarios to run; nil: all
	flaws     []Flaw
	sometimes []Flaw // likewise, in some runs
	declined  []Feature
	keys      func(string) []string
	readers   func(string) string
	leaseEnd  func(string) (time.Time, bool)

	machineClock bool
	red          bool
	full         bool
	counted      bool
	lent         *loan // nil in virtual time
	onReal             // what only matters there

	// The effects of the lock's scripts in the scenarios so far; nil keeps nothing.
	scripts *node.Scripts

	// Scenarios that were run to know whether a flaw of theirs is the lock's, and
	// whether this one is.
	known  *known
	origin bool

	// For the test that holds the timeline against what servers executed.
	seen  func(node int, from *server.Peer, command string, args []string)
	began func(scenario string)

	// For the test of a lock that asks without end: after how many times.
	most int

	// For a second pass in a world that differs a little.
	lease  time.Duration
	key    string
	driver func(*redis.Options)

	change *Change // of what the scenarios say; nil: none

	keeps func(key string) []string
	each  func(scenario string, results []Result, err error)
	lock  string    // the name of the test that runs it
	dir   string    // where runs are recorded; "": nowhere
	left  *[]string // what no expiry removes, and after which scenario
}

// Nodes gives the lock so many independent Redis nodes; the default is one.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Flaws declares what the lock is known to break. Run is strict both ways: a
// declared flaw that no longer breaks fails the test, as does a new one. On real
// servers, a declared flaw that doesn't show is looked for twice more, and where
// the machine was slow, a new flaw is reported only if it shows three times.
func Flaws(flaws ...Flaw) Option {
	return func(s *settings) { s.flaws = append(s.flaws, flaws...) }
}

// Sometimes declares what the lock breaks in one run on real servers and holds in the
// next, because it depends on when a timer of the lock's own fires. Neither fails the
// test.
func Sometimes(flaws ...Flaw) Option {
	return func(s *settings) { s.sometimes = append(s.sometimes, flaws...) }
}

// WithoutFeatures declares what the lock does not claim to offer.
func WithoutFeatures(features ...Feature) Option {
	return func(s *settings) { s.declined = append(s.declined, features...) }
}

// Keys tells which Redis keys stand for the lock, when it is not Env.Key itself.
// The first one is the one whose owner holds the lock.
func Keys(of func(key string) []string) Option {
	return func(s *settings) { s.keys = of }
}

// Readers tells which sorted set holds the readers of a ReadWrite lock:
// members, each with the end of its lease, in milliseconds, as its score.
// Timelines then say who holds the lock while it is read, and what is done to a
// reader's lease by others is judged.
func Readers(of func(key string) string) Option {
	return func(s *settings) { s.readers = of }
}

// Keeps tells which Redis keys of a lock stay on purpose when nobody holds it
// and have no TTL, such as the counter of its fencing tokens.
func Keeps(of func(key string) []string) Option {
	return func(s *settings) { s.keeps = of }
}

// Lease is the lease of the scenarios in virtual time, by default ten seconds; their
// other times fit it. The verdicts on a lock should be the same with any.
func Lease(d time.Duration) Option {
	return func(s *settings) { s.lease = d }
}

// Key is the name of the lock in virtual time, by default "lock:stock".
func Key(name string) Option { return func(s *settings) { s.key = name } }

// declares says whether a flaw is declared.
func (s *settings) declares(scenario, invariant string) bool {
	return slices.Contains(s.flaws,
		Flaw{Scenario: scenario, Invariant: invariant})
}

// expects says whether a flaw is declared, also as one that shows in some runs.
func (s *settings) expects(scenario, invariant string) bool {
	return s.declares(scenario, invariant) || slices.Contains(s.sometimes,
		Flaw{Scenario: scenario, Invariant: invariant})
}

// CountedTokens says that the fencing tokens of successive grants count by one.
// A request that is asked again and counts once more is then told from one that
// does not; of other locks the tokens must rise.
func CountedTokens() Option { return func(s *settings) { s.counted = true } }

// LeaseInValue reads the end of the lease from a key's value, for a lock whose
// lease is not the key's expiry.
func LeaseInValue(end func(value string) (time.Time, bool)) Option {
	return func(s *settings) { s.leaseEnd = end }
}

// MachineClock says that the lock reads the clock of the machine that it runs on,
// where it can't be given another one: as a program, on real servers.
func MachineClock() Option { return func(s *settings) { s.machineClock = true } }

// Red lets every failed assertion through, declared or not. With go test's -v it logs
// the verdict and the timeline of those that hold.
func Red(red bool) Option { return func(s *settings) { s.red = red } }

// FullSize runs the scenario oversell with 1000 clients and a stock of 100.
func FullSize(full bool) Option { return func(s *settings) { s.full = full } }

// Each is called with the results of each scenario as soon as it has ended, or with
// why there are none, by one goroutine at a time.
func Each(hear func(scenario string, results []Result, err error)) Option {
	var hearing sync.Mutex
	return func(s *settings) {
		s.each = func(scenario string, results []Result, err error) {
			hearing.Lock()
			defer hearing.Unlock()
			hear(scenario, results, err)
		}
	}
}

// ended holds the results of a scenario against what is declared, and records them. It
// returns those that belong to the report: none if there are none but an error.
func (s *settings) ended(t *testing.T, scenario Scenario, results []Result,
	err error) []Result {
	t.Helper()
	if s.each != nil {
		s.each(scenario.Name, results, err)
	}
	if err != nil {
		t.Errorf("%s: %v", scenario.Name, err)
		return nil
	}
	s.judge(t, results)
	for _, r := range results {
		s.record(t, r)
	}
	return results
}

// Only runs the named scenarios and no others, in the order of the catalogue. A list
// that is nil names all of them, and an empty one is refused.
func Only(names ...string) Option {
	return func(s *settings) { s.only = names }
}

// catalogue has the scenarios to run.
func (s *settings) catalogue() []Scenario {
	return slices.DeleteFunc(slices.Clone(Catalogue), func(c Scenario) bool {
		return s.only != nil && !slices.Contains(s.only, c.Name)
	})
}

// Run runs every scenario of the catalogue against the locks that build makes,
// a subtest each, named like the scenario. It fails the test when the lock
// breaks an invariant that is not declared as a flaw, holds one that is, or
// fails in any other way. A lock that can't be built, that does not work where
// nothing goes wrong, that is stuck, never returns or leaks connections, or whose
// keys are not known, is reported once: the scenarios that follow are skipped. When what broke is not what was declared, Run prints a
// list to declare it by.
func Run(t *testing.T, build Build, opts ...Option) Report {
	t.Helper()
	s := settings{nodes: 1, scripts: node.NewScripts(), known: &known{}}
	for i, set := range opts {
		if set == nil {
			t.Fatalf("option %d of %d is nil", i+1, len(opts))
		}
		set(&s)
	}
	if err := s.check(build); err != nil {
		t.Fatal(err)
	}
	s.lock = t.Name()
	defer s.recorded(t)
	if s.pool != nil {
		return runReal(t, build, s)
	}
	var report Report
	var left []string
	s.left = &left
	hopeless := ""
	for _, scenario := range s.catalogue() {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Helper() // it is the caller's lock that fails
			if hopeless != "" {
				t.Skip("after the failure of " + hopeless)
			}
			results, err := runScenario(t, scenario, build, s)
			if isHopeless(err) {
				hopeless = scenario.Name
			}
			report = append(report, s.ended(t, scenario, results, err)...)
		})
	}
	if len(left) > 0 && !s.declares(nothingLeft.Name, LeftBehind) &&
		report.Verdict(nothingLeft.Name, LeftBehind) == Holds {
		t.Errorf("keys without a TTL are left three leases after the last owner"+
			" has died; declare with scenarios.Keeps what stays on purpose: %s",
			strings.Join(left, ", "))
	}
	if idle := report.idle(); len(idle) > 0 && !s.red {
		t.Log(strings.Join(history.Wrap("did not arise for this lock: "+
			strings.Join(idle, ", "), history.Columns, 2), "\n"))
	}
	if broken := report.broken(); hopeless == "" && !s.red && s.only == nil &&
		len(without(broken, s.flaws))+len(without(s.flaws, broken)) > 0 {
		t.Log(declaration(broken, s.flaws))
	}
	return report
}

// idle are the scenarios and invariants that did not arise, in the order of the
// catalogue. The lock's behavior there was not seen.
func (r Report) idle() []string {
	var idle []string
	for _, result := range r {
		if result.Verdict == DoesNotArise {
			idle = append(idle, result.Scenario+" ("+result.Invariant+")")
		}
	}
	return idle
}

// broken are the flaws that were seen, in the order of the catalogue.
func (r Report) broken() []Flaw {
	var flaws []Flaw
	for _, result := range r {
		if result.Verdict == Breaks {
			flaws = append(flaws, Flaw{Scenario: result.Scenario,
				Invariant: result.Invariant})
		}
	}
	return flaws
}

// without are the flaws of a list that another one lacks.
func without(flaws, others []Flaw) []Flaw {
	return slices.DeleteFunc(slices.Clone(flaws), func(f Flaw) bool {
		return slices.Contains(others, f)
	})
}

// declaration is what to declare of a lock: Go code, or how it differs from what was
// declared, in the form that lock.Flaws takes.
func declaration(broken, declared []Flaw) string {
	var code strings.Builder
	if len(declared) == 0 {
		code.WriteString("this run broke the following; to declare it:\n\tscenarios.Flaws(\n")
		for _, f := range broken {
			fmt.Fprintf(&code, "\t\tscenarios.Flaw{Scenario: %q, Invariant: %q},\n",
				f.Scenario, f.Invariant)
		}
		return code.String() + "\t)"
	}
	for _, part := range []struct {
		title string
		flaws []Flaw
	}{
		{"broken, but not declared:\n", without(broken, declared)},
		{"declared, but not broken:\n", without(declared, broken)},
	} {
		if len(part.flaws) == 0 {
			continue
		}
		code.WriteString(part.title)
		for _, f := range part.flaws {
			fmt.Fprintf(&code, "\t%q,\n", f.Scenario+": "+f.Invariant)
		}
	}
	return strings.TrimSuffix(code.String(), "\n")
}

// check refuses declarations that no run could meet.
func (s *settings) check(build Build) error {
	if build == nil {
		return errors.New("build is nil, it must make an owner of the lock")
	}
	if s.nodes < 1 {
		return fmt.Errorf("%d nodes, a lock needs at least one", s.nodes)
	}
	if s.dir != "" {
		if err := play.Writable(s.dir); err != nil {
			return fmt.Errorf("the runs can't be recorded: %w", err)
		}
	}
	for _, f := range s.declined {
		if !slices.Contains(features, f) {
			return fmt.Errorf("the lock is declared to be without %q, the"+
				" features are %q, %q, %q and %q", f, Reentry, Renewal, LossNotices,
				FixedLeases)
		}
	}
	if s.only != nil && len(s.only) == 0 {
		return errors.New("only some scenarios are to run, and none is named")
	}
	for _, name := range s.only {
		if _, err := Find(name); err != nil {
			return fmt.Errorf("only some scenarios are to run: %w", err)
		}
	}
	for _, flaw := range slices.Concat(s.flaws, s.sometimes) {
		scenario, err := Find(flaw.Scenario)
		if err != nil {
			return fmt.Errorf("a flaw is declared: %w", err)
		}
		if !slices.Contains(scenario.Judged(), flaw.Invariant) {
			return fmt.Errorf("a flaw is declared of invariant %q in %s, its"+
				" invariants are %s", flaw.Invariant, flaw.Scenario,
				strings.Join(scenario.Judged(), ", "))
		}
	}
	return nil
}

// Find returns the scenario of that name. Its error names those whose names are nearest.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Catalogue {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	far := func(from string) int {
		if strings.Contains(from, name) {
			return 0 // a part of it was typed
		}
		return levenshtein.ComputeDistance(name, from)
	}
	slices.SortStableFunc(names, func(a, b string) int { return far(a) - far(b) })
	return Scenario{}, fmt.Errorf("there is no scenario %q; the nearest are %s",
		name, strings.Join(names[:3], ", "))
}

// judge holds a scenario's results against what is declared.
func (s *settings) judge(t *testing.T, results []Result) {
	t.Helper()
	var broken, known Report
	for _, r := range results {
		declared := s.declares(r.Scenario, r.Invariant)
		switch {
		case r.Verdict == Breaks && !s.red && s.expects(r.Scenario, r.Invariant):
			known = append(known, r)
		case r.Verdict == Breaks:
			broken = append(broken, r)
		case declared && r.Verdict != CannotRun:
			t.Errorf("%s: %s is declared as a flaw, but it %s now\n\n%s",
				r.Scenario, r.Invariant, r.Verdict, r.Timeline)
		case s.red && testing.Verbose(): // a test that fails shows its logs without -v
			t.Logf("%s: %s: %s\n\n%s", r.Scenario, r.Invariant, r.Verdict, r.Timeline)
		}
	}
	switch {
	case len(broken) > 0 && s.red:
		t.Error(broken.Failures())
	case len(broken) > 0:
		t.Errorf("a flaw that is not declared:\n%s%s", broken.Failures(),
			declines(broken[0].Asked))
	}
	if len(known) > 0 {
		t.Logf("a known flaw, as declared:\n%s", known.Failures())
	}
}

// declines says how a lock declines the features that a scenario has asked for.
func declines(features []Feature) string {
	names := map[Feature]string{Reentry: "Reentry", Renewal: "Renewal",
		LossNotices: "LossNotices", FixedLeases: "FixedLeases"}
	var text strings.Builder
	for _, f := range features {
		fmt.Fprintf(&text, "\nA lock without the feature %q declines this with\n"+
			"scenarios.WithoutFeatures(scenarios.%s).\n", f, names[f])
	}
	return text.String()
}

// Failures are what a test prints of the scenarios that break, in lines of 68 columns: what
// happens in each, and its timeline up to the last break, with every break marked.
func (r Report) Failures() string {
	broken := slices.DeleteFunc(slices.Clone(r), func(r Result) bool {
		return r.Verdict != Breaks
	})
	var texts []string
	for len(broken) > 0 {
		n := 1
		for n < len(broken) && broken[n].Scenario == broken[0].Scenario {
			n++
		}
		texts = append(texts, broken[:n].failure())
		broken = broken[n:]
	}
	return strings.Join(texts, "\n")
}

// failure is that of one scenario's broken invariants. Those that broke in one world share
// its timeline.
func (r Report) failure() string {
	var invariants []string
	var worlds []*timeline
	for _, result := range r {
		invariants = append(invariants, result.Invariant)
		i := slices.IndexFunc(worlds, func(w *timeline) bool {
			return w.History == result.shown.History
		})
		if i < 0 {
			i = len(worlds)
			worlds = append(worlds, &timeline{History: result.shown.History})
		}
		worlds[i].breaks = append(worlds[i].breaks, result.shown.breaks...)
		worlds[i].last = max(worlds[i].last, result.BrokenAt)
	}
	scenario, _ := Find(r[0].Scenario)
	text := r[0].Scenario + ": " + strings.Join(invariants, ", ") + "\n\n" + strings.Join(
		history.Wrap(scenario.Summary, history.Columns, 0), "\n") + "\n"
	for _, w := range worlds {
		text += "\n" + w.Render(w.last, w.breaks)
	}
	return text
}

// timeline is what was recorded of a world, and what to mark in it.
type timeline struct {
	*history.History
	breaks []*lab.Break
	last   int // the last entry to show
}
