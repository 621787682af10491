package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/lock"
)

// Scenario is one entry of the catalogue.
type Scenario struct {
	Name       string
	Family     string   // the failure family, which is also its file
	Summary    string   // what happens, in one or two sentences
	Invariants []string // what it is about; it judges those of everywhere, too

	// Its needs. Where one is missing it isn't run, for the reason that is given.
	features []Feature // that the lock offers
	exact    string    // virtual time
	readable string    // commands that show what they do to the lock
	own      bool      // servers that may be killed, stopped and flushed

	script func(*S)
}

// lease is the lease of every scenario; the scenarios' times fit it.
const lease = 10 * time.Second

// latency is how long a command or a reply is on its way. Without it whatever a
// lock does takes no time, and what it has no time for goes unnoticed.
const latency = 500 * time.Microsecond

// seconds makes the scenarios read like the articles that they are from.
const second = time.Second

// S is a scenario under way: one or several worlds, one after the other, that are judged
// together. A scenario's script has a world of its own, and World opens another one.
type S struct {
	venue
	t        *testing.T
	scenario Scenario
	build    Build
	settings settings
	next     []later // the worlds to come

	results   map[string]*Result
	err       error
	suspected []suspicion
	asked     []Feature // that the lock might have declined

	inWorld
}

type world = lab.World

// inWorld is what a scenario has in one world.
type inWorld struct {
	*world
	options []lock.Option
	actors  []*actor
	operate func() // what an operator does meanwhile, or nil
	settled bool   // it was played, or has its verdicts
	absent  bool   // the lock has nothing that this is about

	judged []string     // the invariants that the scenario has judged in this world
	doubts []*lab.Break // what the servers deny
	newest uint64       // the highest fencing token so far
	errors []string     // replies that are errors
	others []string     // the names of other locks

	resting map[string]time.Duration // by process, see rests
	gaveUp  []givenUp
}

// later is a world to come, and the settings when it was asked for.
type later struct {
	script   func()
	settings settings
}

// World has a script played in another world, when this one has ended.
func (s *S) World(script func()) {
	s.next = append(s.next, later{script, s.settings})
}

// runVirtual runs the scenarios in virtual time, one after the other. The report is not
// whole when a failure has ended it.
func runVirtual(t *testing.T, build Build, s settings) (report Report, whole bool) {
	t.Helper()
	var hopeless atomic.Pointer[string]
	for _, scenario := range s.catalogue() {
		report = append(report, s.one(t, scenario, build, &hopeless)...)
	}
	return report, hopeless.Load() == nil
}

// one runs a scenario as a subtest, unless one was hopeless before. On real servers it is run
// twice more for a declared flaw that doesn't show, and for a free lock that isn't granted.
func (s settings) one(t *testing.T, scenario Scenario, build Build,
	hopeless *atomic.Pointer[string]) (report []Result) {
	t.Helper()
	t.Run(scenario.Name, func(t *testing.T) {
		t.Helper() // it is the caller's lock that fails
		if after := hopeless.Load(); after != nil {
			t.Skip("after the failure of " + *after)
		}
		results, err := runScenario(t, scenario, build, s)
		for n := 0; n < 2 && s.lent != nil && s.misses(results, err); n++ {
			if err = s.lent.borrow(t.Context(), s.nodes); err == nil {
				results, err = runScenario(t, scenario, build, s)
			}
		}
		if isHopeless(err) {
			hopeless.Store(&scenario.Name)
		}
		report = s.ended(t, scenario, results, err)
	})
	return report
}

// runScenario runs a scenario and returns a result for each of its invariants.
func runScenario(t *testing.T, scenario Scenario, build Build, s settings) ([]Result, error) {
	t.Helper()
	whole := &S{venue: s.venue(), t: t, scenario: scenario, build: build,
		settings: s, results: map[string]*Result{}}
	if whole.possible() {
		whole.World(func() { scenario.script(whole) })
	}
	whole.worlds()
	if whole.err != nil {
		return nil, fmt.Errorf("%w%s", whole.err, declines(scenario.features))
	}
	if !s.origin {
		whole.resolve()
	}
	var results []Result
	for _, invariant := range scenario.Invariants {
		r, ok := whole.results[invariant]
		if !ok {
			return nil, fmt.Errorf("the scenario judged nothing about %q", invariant)
		}
		results = append(results, *r)
	}
	if results != nil {
		results = whole.unlisted(results)
	}
	for i := range results {
		results[i].Asked = whole.asked
	}
	return results, nil
}

// leave notes what a world has left behind, but for what the lock keeps.
func (s *S) leave(keys, kept []string) {
	for _, key := range keys {
		note := fmt.Sprintf("%q after %s", key, s.scenario.Name)
		if left := s.settings.left; left != nil && !slices.Contains(kept, key) &&
			!slices.Contains(*left, note) {
			*left = append(*left, note)
		}
	}
}

// offers says whether the lock claims a feature.
func (s *S) offers(f Feature) bool {
	declined := slices.Contains(s.settings.declined, f)
	if !declined && !slices.Contains(s.asked, f) {
		s.asked = append(s.asked, f)
	}
	return !declined
}

// possible says whether there is all that the scenario needs. If not, it gives the verdict.
func (s *S) possible() bool {
	of := s.scenario
	switch {
	case slices.ContainsFunc(of.features, func(f Feature) bool { return !s.offers(f) }):
		s.verdict(NotOffered, of.Invariants...)
		return false
	case of.own && s.needsOwnServers(), of.exact != "" && s.cannot(of.exact),
		of.readable != "" && !s.readable() && s.cannot(of.readable):
		return false
	}
	return true
}

// needsOwnServers says whether a scenario can't be run, because it does to a
// server what must not be done to somebody's.
func (s *S) needsOwnServers() bool {
	return !s.disposable() && s.cannot("a server that others use, too, is not"+
		" killed, stopped or flushed")
}

// cannot says that a scenario can't be run on real servers, where it is to be.
func (s *S) cannot(why string) bool {
	if s.exact() {
		return false
	}
	s.unjudged(why, s.scenario.Invariants...)
	return true
}

// unfit is the error of a lock that can't be built, or not be taken and released
// where nothing goes wrong: no scenario can be run with it.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

// errUnseen is the error of a lock whose grants the servers don't show. Every scenario
// would say so.
var errUnseen = errors.New("the lock was granted")

// isHopeless says whether other scenarios would fail for the same reason. A stuck lock
// still runs, besides.
func isHopeless(err error) bool {
	_, unfit := errors.AsType[unfit](err)
	return unfit || slices.ContainsFunc([]error{errUnseen, order.ErrStuck,
		order.ErrEndless, lab.ErrConnections}, func(reason error) bool {
		return errors.Is(err, reason)
	})
}

// worlds plays the scenario in one world after the other.
func (s *S) worlds() {
	settings := s.settings
	for len(s.next) > 0 && s.err == nil && !s.absent {
		world := s.next[0]
		s.next = s.next[1:]
		s.settings, s.venue = world.settings, world.settings.venue()
		s.inTime(world.script)
	}
	s.settings, s.venue = settings, settings.venue()
}

// tries is how often a scenario is played on a machine that is too late for it.
const tries = 6

// inTime plays a script in a world of its own. On real servers a run in which the machine
// was late by more than a tenth of the lease, at its latest, was another scenario,
// whatever came out: it's void, and played again more slowly, with other servers.
func (s *S) inTime(script func()) {
	s.t.Helper()
	var late time.Duration
	for n := range tries {
		if n > 0 {
			if s.err = s.settings.lent.borrow(s.t.Context(), s.settings.nodes); s.err != nil {
				return
			}
		}
		results, suspected, next := maps.Clone(s.results), s.suspected, s.next
		if late = s.once(n, script); late == 0 {
			return
		}
		s.t.Logf("%s is run again: the machine was late by %v", s.scenario.Name,
			late.Round(time.Millisecond))
		s.results, s.suspected, s.next, s.err = results, suspected, next, nil
	}
	s.err = fmt.Errorf("each of %d times the machine was late, at last by %v", tries,
		late.Round(time.Millisecond))
}

// once plays a script for the n-th time, counted from 0. It says by how much the machine
// was too late for it.
func (s *S) once(n int, script func()) (late time.Duration) {
	s.t.Helper()
	var world *lab.World
	var kept []string // keys that the locks keep
	err := lab.Run(s.t, s.config(n), func(w *lab.World) {
		s.inWorld = inWorld{world: w}
		s.pace()
		script()
		if late = w.Late(); late < w.TTL/10 {
			late = 0
		}
		if !s.settled {
			w.Fail("the scenario was never played")
		}
		if s.settings.story == nil {
			s.judgeEverywhere()
		}
		world = w
		kept = s.kept()
		if len(w.Failures()) > 0 {
			s.failed()
		}
	})
	if err != nil && s.err == nil {
		s.err = err
	}
	if world != nil && err == nil {
		s.leave(world.Left, kept)
	}
	return late
}

// failed keeps why the scenario can't be judged.
func (s *S) failed() {
	s.err = errors.Join(s.Failures()...)
	s.settings.change.failed(s.world)
	switch {
	case errors.Is(s.err, order.ErrStuck): // the timeline would be endless
	case len(s.Timeline()) > 0:
		s.err = fmt.Errorf("%w\n\n%s", s.err, s.Render(-1))
	default: // it never came to the scenario
		s.err = unfit{s.err}
	}
}

// pollEvery, nodeTimeout and fixedLease are the options of package lock, in the
// scenario's time. A script calls them before it is played.
func (s *S) pollEvery(d time.Duration) { s.option(lock.PollEvery(s.Lasts(d))) }

func (s *S) nodeTimeout(d time.Duration) { s.option(lock.NodeTimeout(s.Lasts(d))) }

func (s *S) fixedLease() { s.option(lock.FixedLease()) }

func (s *S) option(o lock.Option) { s.options = append(s.options, o) }

// uneven makes the lease a little longer, so that it is no whole number of
// seconds. The scenario's times stay in step with it.
func (s *S) uneven() {
	ttl := (s.TTL * 1076 / 1000).Truncate(time.Millisecond)
	s.Pace(ttl, cmp.Or(s.Scale, 1)*float64(ttl)/float64(s.TTL))
}

// pace is what the locks' own times are on real servers: in step with the
// scenario where they would else be fixed, and with room for a busy machine.
func (s *S) pace() {
	s.pollEvery(lock.DefaultPoll)
	if !s.Exact() {
		s.nodeTimeout(second)
	}
}

// everyNode does something to each node.
func (s *S) everyNode(do func(*lab.Node)) {
	for i := range s.settings.nodes {
		do(s.Node(i))
	}
}

// play warms up, starts the actors' scripts and plays them to their ends.
func (s *S) play(scripts ...func()) {
	s.start()
	s.run(scripts...)
}

// start warms up and sets the clock to zero. Faults are decided after it, for
// they depend on how many commands a call takes.
func (s *S) start() {
	s.warm()
	if len(s.Failures()) > 0 {
		return
	}
	s.Record()
	if s.scenario.Family == Sharing && s.actors[0].readWrite() == nil {
		s.verdict(DoesNotArise, s.scenario.Invariants...)
		s.absent, s.settled = true, true
	}
}

// run plays the scripts: one for each actor, in the order of the cast.
func (s *S) run(scripts ...func()) {
	s.settled = true
	if len(s.Failures()) > 0 || s.absent {
		return
	}
	for _, a := range s.actors {
		s.settings.change.skew(a.process)
	}
	if s.operate != nil {
		s.operate()
	}
	for i, script := range scripts {
		s.actors[i].Go(script)
	}
	s.Play()
	if len(s.Failures()) > 0 || len(s.Broken()) > 0 || s.Log().Touched ||
		!s.someoneHeld() || !s.Node(0).SeesGrants() {
		return
	}
	if s.actors[0].acquires == 0 {
		s.Fail("%w without a command to a node: build it on the clients in Env.Nodes,"+
			" or on Env.Dial", errUnseen)
		return
	}
	s.Fail("%w, but no client set the key %q. If the lock puts a prefix before it, add the option\n"+
		"  scenarios.Keys(func(key string) []string { return []string{\"PREFIX\" + key} })\n"+
		"or, in the hello of a program, \"keys\": [\"PREFIX{key}\"]", errUnseen, s.Keys[0])
}

func (s *S) someoneHeld() bool {
	return slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.grantedAt > 0
	})
}

// sooner is a moment late in a lease of the article's scenario; on real servers
// an earlier one, that a busy machine does not miss.
func (s *S) sooner(exact, real time.Duration) time.Duration {
	if !s.Exact() {
		return real
	}
	return exact
}

// patience is how long somebody waits for what is free; on real servers longer,
// and still not until another lease ends.
func (s *S) patience(exact time.Duration) time.Duration {
	return s.sooner(exact, max(exact, 3*second))
}
