package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	Invariants []string // what it is about; it judges those of Everywhere, too

	// Its needs. Where one is missing it isn't run, for the reason that is given.
	features []Feature // that the lock offers
	exact    string    // virtual time
	readable string    // commands that show what they do to the lock
	own      bool      // servers that may be killed, stopped and flushed

	run func(*scenarioRun)
}

// single is the run of a scenario that has one world.
func single(script func(*worldRun), options ...worldOption) func(*scenarioRun) {
	return func(t *scenarioRun) { t.world(script, options...) }
}

// lease is the lease of every scenario; the scenarios' times fit it.
const lease = 10 * time.Second

// latency is how long a command or a reply is on its way. Without it whatever a
// lock does takes no time, and what it has no time for goes unnoticed.
const latency = 500 * time.Microsecond

// seconds makes the scenarios read like the articles that they are from.
const second = time.Second

// scenarioRun is a scenario under way: one or several worlds, judged together.
type scenarioRun struct {
	venue
	left     []string // the keys that its worlds left behind without a lease
	t        *testing.T
	scenario Scenario
	build    Build
	settings settings
	results  map[string]*Result
	err      error

	suspected []suspicion
	asked     []Feature // that the lock might have declined
}

// runScenario runs a scenario and returns a result for each of its invariants.
func runScenario(t *testing.T, scenario Scenario, build Build, s settings) (
	[]Result, error) {
	t.Helper()
	if s.known == nil {
		s.known = &known{}
	}
	whole := &scenarioRun{venue: s.venue(), t: t, scenario: scenario, build: build,
		settings: s, results: map[string]*Result{}}
	if whole.possible() {
		scenario.run(whole)
	}
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
	if len(whole.left) > 0 && s.left != nil {
		*s.left = append(*s.left, fmt.Sprintf("%q after %s", whole.left,
			scenario.Name))
	}
	return results, nil
}

// leave notes what a world has left behind, but for what the lock keeps.
func (t *scenarioRun) leave(keys, kept []string) {
	for _, key := range keys {
		if !slices.Contains(kept, key) && !slices.Contains(t.left, key) {
			t.left = append(t.left, key)
		}
	}
}

// offers says whether the lock claims a feature.
func (t *scenarioRun) offers(f Feature) bool {
	if !slices.Contains(t.asked, f) {
		t.asked = append(t.asked, f)
	}
	return !slices.Contains(t.settings.declined, f)
}

// possible says whether there is all that the scenario needs. If not, it gives the
// verdict.
func (t *scenarioRun) possible() bool {
	s := t.scenario
	switch {
	case slices.ContainsFunc(s.features, func(f Feature) bool { return !t.offers(f) }):
		t.verdict(NotOffered, s.Invariants...)
		return false
	case s.own && t.needsOwnServers(),
		s.exact != "" && t.cannot(s.exact),
		s.readable != "" && !t.readable() && t.cannot(s.readable):
		return false
	}
	return true
}

// needsOwnServers says whether a scenario can't be run, because it does to a
// server what must not be done to somebody's.
func (t *scenarioRun) needsOwnServers() bool {
	return !t.disposable() && t.cannot("a server that others use, too, is not"+
		" killed, stopped or flushed")
}

// cannot says that a scenario can't be run on real servers, where it is to be.
func (t *scenarioRun) cannot(why string) bool {
	if t.exact() {
		return false
	}
	t.unjudged(why, t.scenario.Invariants...)
	return true
}

// errRefused is the reason why a lock isn't granted, where there is no error.
var errRefused = errors.New("it is refused")

// unfit is the error of a lock that can't be built, or not be taken and released
// where nothing goes wrong: no scenario can be run with it.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

// errUnseen is the error of a lock whose grants the servers don't show. Every scenario
// would say so.
var errUnseen = errors.New("the lock was granted")

func isUnfit(err error) bool {
	_, ok := errors.AsType[unfit](err)
	return ok
}

// isHopeless says whether other scenarios would fail for the same reason. A stuck lock
// still runs, besides.
func isHopeless(err error) bool {
	return isUnfit(err) || slices.ContainsFunc([]error{errUnseen, order.ErrStuck,
		order.ErrEndless, lab.ErrConnections}, func(reason error) bool {
		return errors.Is(err, reason)
	})
}

// world runs one scenario in a world of its own. On real servers it is run
// again when the machine was too late for it, whatever came out: that was
// another scenario. So it is when it could not begin, and nothing came out. A
// flaw that isn't declared is doubted twice where the machine was slow, and so is
// a scenario that fails, because a client may not get the lock in time there. Each
// time the scenario runs more slowly. When that does not help, the test fails.
func (t *scenarioRun) world(script func(*worldRun), options ...worldOption) {
	t.t.Helper()
	if t.err != nil {
		return
	}
	var failed error
	for n := range tries {
		if n > 0 {
			if t.err = t.settings.lent.exchange(t.t.Context()); t.err != nil {
				return
			}
		}
		before, suspected := maps.Clone(t.results), t.suspected
		late, slow := t.once(n, script, options...)
		unfit := isUnfit(t.err) && !t.exact()
		doubted := slow && n < doubts && (t.err != nil || t.accuses(before))
		if late == 0 && !unfit && !doubted {
			return
		}
		failed = t.err
		if late > 0 {
			failed = fmt.Errorf("the machine was late by %v",
				late.Round(time.Millisecond))
		} else if doubted && t.err == nil {
			failed = errors.New("it shows a flaw that isn't declared, and the" +
				" machine is slow")
		}
		t.t.Logf("%s is run again: %v", t.scenario.Name, failed)
		order.Calm(t.settings.realLease(n)/10, 30*time.Second)
		t.results, t.suspected, t.err = before, suspected, nil
	}
	t.err = fmt.Errorf("each of %d times: %w", tries, failed)
}

// tries is how often a scenario is run on a machine that is too late for it.
const tries = 6

// doubts is how often a flaw that isn't declared, or a failure, is doubted on a slow
// machine.
const doubts = 2

// accuses says whether a flaw that isn't declared has shown since those results.
func (t *scenarioRun) accuses(before map[string]*Result) bool {
	for invariant, r := range t.results {
		if r.Verdict == Breaks && r != before[invariant] &&
			!t.settings.expects(r.Scenario, invariant) {
			return true
		}
	}
	return false
}

// once runs one scenario for the n-th time, counted from 0. It says by how much
// the machine was too late for it, and whether it was slow all the time.
func (t *scenarioRun) once(n int, script func(*worldRun), options ...worldOption) (
	late time.Duration, slow bool) {
	t.t.Helper()
	var world *lab.World
	var kept []string // keys that the locks keep
	err := lab.Run(t.t, t.config(n), func(w *lab.World) {
		s := &worldRun{scenarioRun: t, World: w}
		for _, option := range append([]worldOption{pace}, options...) {
			s.options = append(s.options, option(w)...)
		}
		s.options = append(s.options, t.settings.change.options()...)
		script(s)
		if late = w.Late(); late < w.TTL/10 {
			late = 0
		}
		// In virtual time a command and its reply take a ten-thousandth of the
		// lease. A lock that asks several servers, or asks twice, has no time
		// left for that in a scenario where each takes fifty times as long.
		slow = w.Slow(w.TTL / 200)
		if !s.played {
			w.Fail("the scenario was never played")
		}
		s.judgeEverywhere()
		world = w
		kept = s.kept()
		if len(w.Failures()) > 0 {
			t.err = errors.Join(w.Failures()...)
			t.settings.change.failed(w)
			if errors.Is(t.err, order.ErrStuck) {
				return // the timeline would be endless
			}
			if len(w.Timeline()) > 0 {
				t.err = fmt.Errorf("%w\n\n%s", t.err, w.Render(-1))
			} else { // it never came to the scenario
				t.err = unfit{t.err}
			}
		}
	})
	if err != nil && t.err == nil {
		t.err = err
	}
	if world != nil && err == nil {
		t.leave(world.Left, kept)
	}
	return late, slow
}

// worldOption sets the locks' options in terms of the scenario's time.
type worldOption func(w *lab.World) []lock.Option

// pollEvery is lock.PollEvery.
func pollEvery(d time.Duration) worldOption {
	return func(w *lab.World) []lock.Option {
		return []lock.Option{lock.PollEvery(w.Lasts(d))}
	}
}

// nodeTimeout is lock.NodeTimeout.
func nodeTimeout(d time.Duration) worldOption {
	return func(w *lab.World) []lock.Option {
		return []lock.Option{lock.NodeTimeout(w.Lasts(d))}
	}
}

// unrenewed is lock.FixedLease.
func unrenewed(*lab.World) []lock.Option {
	return []lock.Option{lock.FixedLease()}
}

// uneven makes the lease a little longer, so that it is no whole number of
// seconds. The scenario's times stay in step with it.
func uneven(w *lab.World) []lock.Option {
	ttl := (w.TTL * 1076 / 1000).Truncate(time.Millisecond)
	w.Pace(ttl, cmp.Or(w.Scale, 1)*float64(ttl)/float64(w.TTL))
	return nil
}

// pace is what the locks' own times are on real servers: in step with the
// scenario where they would else be fixed, and with room for a busy machine.
func pace(w *lab.World) []lock.Option {
	if w.Exact() {
		return []lock.Option{lock.PollEvery(w.Lasts(lock.DefaultPoll))}
	}
	return []lock.Option{lock.PollEvery(w.Lasts(lock.DefaultPoll)),
		lock.NodeTimeout(w.Lasts(second))}
}

// worldRun is one run of a scenario, in one world.
type worldRun struct {
	*lab.World
	*scenarioRun
	options []lock.Option
	actors  []*actor
	operate func() // what an operator does meanwhile, or nil
	played  bool
	absent  bool // the lock has nothing that this is about

	judged []string     // the invariants that the scenario has judged in this world
	doubts []*lab.Break // what the servers deny
}

// everyNode does something to each node.
func (s *worldRun) everyNode(do func(*lab.Node)) {
	for i := range s.settings.nodes {
		do(s.Node(i))
	}
}

// warm lets every actor take and release a lock that no scenario is about,
// twice. A cold script would answer NOSCRIPT and be a command of its own; so
// the first time is long enough for a renewal. The second time the commands are
// counted.
func (s *worldRun) warm() {
	var keys []string
	for _, a := range s.actors {
		keys = append(keys, s.keys(s.warmKey(a))...)
	}
	s.Rehearse(keys)
	for _, a := range s.actors {
		a.Go(func() {
			ctx := context.Background()
			if err := a.Connect(ctx); err != nil {
				s.Fail("%s can't connect: %w", a.Name, err)
				return
			}
			l, err := lab.Build(s.build, a.EnvOf(a.owner, s.warmKey(a), s.options...))
			if err != nil {
				s.Fail("%w", err)
				return
			}
			for _, work := range []time.Duration{lease * 2 / 5, 0} {
				a.Step("warms up", func() { a.Begin(lab.Acquire) })
				if granted, err := l.TryLock(ctx); err != nil || !granted {
					s.Fail("%s: a free lock on a healthy server is not granted to"+
						" %s: %w", Unavailable, a.Name, cmp.Or(err, errRefused))
					return
				}
				a.acquires = a.Sent(lab.Acquire)
				a.grants = cmp.Or(a.Decided(lab.Acquire), 1)
				a.Sleep(work)
				a.renews = cmp.Or(a.Decided(lab.Renewal), 1)
				a.Step("warms up", func() { a.Begin(lab.Release) })
				if err := l.Unlock(ctx); err != nil {
					s.Fail("%s: Unlock returns %v", a.unreleased(s.warmKey(a)), err)
					return
				}
				a.releases = a.Sent(lab.Release)
				a.frees = cmp.Or(a.Decided(lab.Release), 1)
				a.Step("warms up", func() { a.Begin(lab.Renewal) })
			}
			if err := a.warmReads(l); err != nil {
				s.Fail("%w", err)
				return
			}
			if a.process && !a.Apart() {
				err = a.startProcess()
			} else {
				a.lock, err = s.ownerOf(a)
			}
			if err != nil {
				s.Fail("%w", err)
			}
		})
		if !s.Exact() {
			continue // there is no order to keep, and time is short
		}
		s.Play()
		if len(s.Failures()) > 0 {
			return // the others would say the same
		}
	}
	s.Play()
}

// unreleased says what is wrong where an actor can't release the lock that it was
// granted, on a healthy server.
func (a *actor) unreleased(name string) string {
	s := a.run
	if !s.readable() || !slices.ContainsFunc(s.keys(name), func(key string) bool {
		return s.Node(0).Observe(key).Exists
	}) {
		return fmt.Sprintf("%s: %s can't release a lock that it holds", FalseLoss, a.Name)
	}
	return fmt.Sprintf("%s: %s can't release a lock that it holds, and the server still"+
		" has it", Orphaned, a.Name)
}

// ownerOf makes the actor's owner of the lock.
func (s *worldRun) ownerOf(a *actor) (lock.Lock, error) {
	return lab.Build(s.build, a.EnvOf(a.owner, s.Key, s.options...))
}

// warmKey names the lock that warms an actor up. In a Redis Cluster it lies
// where the scenario's lock does: the others have not seen the scripts.
func (s *worldRun) warmKey(a *actor) string {
	if !s.Exact() {
		return lock.SecondKey(s.Key, "warm:"+a.owner)
	}
	return s.Key + ":warm:" + a.owner
}

// kept are the Redis keys that the locks of the scenario declare to keep
// forever.
func (s *worldRun) kept() []string {
	of := s.settings.keeps
	if of == nil {
		return nil
	}
	kept := of(s.Key)
	for _, a := range s.actors {
		kept = append(kept, of(s.warmKey(a))...)
	}
	return kept
}

// keys are the Redis keys that stand for the lock of a name.
func (s *worldRun) keys(name string) []string {
	if of := s.settings.keys; of != nil {
		return of(name)
	}
	return []string{name}
}

// play warms up, starts the actors' scripts and plays them to their ends.
func (s *worldRun) play(scripts ...func()) {
	s.start()
	s.run(scripts...)
}

// start warms up and sets the clock to zero. Faults are decided after it, for
// they depend on how many commands a call takes.
func (s *worldRun) start() {
	s.warm()
	if len(s.Failures()) > 0 {
		return
	}
	s.Record()
	if began := s.settings.began; began != nil {
		began(s.scenario.Name)
	}
	if s.scenario.Family == Sharing && s.actors[0].readWrite() == nil {
		s.verdict(DoesNotArise, s.scenario.Invariants...)
		s.absent, s.played = true, true
	}
}

// run plays the scripts: one for each actor, in the order of the cast.
func (s *worldRun) run(scripts ...func()) {
	s.played = true
	if len(s.Failures()) > 0 || s.absent {
		return
	}
	for _, a := range s.actors {
		s.settings.change.skew(a.Client)
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
	s.Fail("%w, but no client set the key %q: say which keys stand for the lock, with"+
		" scenarios.Keys, or a program with \"keys\" in its hello", errUnseen, s.Keys[0])
}

func (s *worldRun) someoneHeld() bool {
	return slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.grantedAt > 0
	})
}

// sooner is a moment late in a lease of the article's scenario; on real servers
// an earlier one, that a busy machine does not miss.
func (s *worldRun) sooner(exact, real time.Duration) time.Duration {
	if !s.Exact() {
		return real
	}
	return exact
}

// patience is how long somebody waits for what is free; on real servers longer,
// and still not until another lease ends.
func (s *worldRun) patience(exact time.Duration) time.Duration {
	return s.sooner(exact, max(exact, 3*second))
}
