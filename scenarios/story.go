package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
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
	Family     string   // the failure family: the file that tells it
	Story      string   // what happens, in one or two sentences
	Invariants []string // what it judges

	tell func(*telling)
}

// lease is the lease of every story; the stories' times fit it.
const lease = 10 * time.Second

// latency is how long a command or a reply is on its way. Without it whatever a
// lock does takes no time, and what it has no time for goes unnoticed.
const latency = 500 * time.Microsecond

// seconds makes the stories read like their sources.
const second = time.Second

// telling is a scenario under way: one or several worlds, judged together.
type telling struct {
	venue
	left     []string // the keys that its worlds left behind without a lease
	t        *testing.T
	scenario Scenario
	build    Build
	settings settings
	results  map[string]*Result
	err      error
}

// tell tells a scenario and returns a result for each of its invariants.
func tell(t *testing.T, scenario Scenario, build Build, s settings) (
	[]Result, error) {
	t.Helper()
	telling := &telling{venue: s.venue(), t: t, scenario: scenario, build: build, settings: s,
		results: map[string]*Result{}}
	scenario.tell(telling)
	if telling.err != nil {
		return nil, telling.err
	}
	var results []Result
	for _, invariant := range scenario.Invariants {
		r, ok := telling.results[invariant]
		if !ok {
			return nil, fmt.Errorf("the story judged nothing about %q", invariant)
		}
		results = append(results, *r)
	}
	if len(telling.left) > 0 && s.left != nil {
		*s.left = append(*s.left, fmt.Sprintf("%q after %s", telling.left,
			scenario.Name))
	}
	return results, nil
}

// leave notes what a world has left behind, but for what the lock keeps.
func (t *telling) leave(keys, kept []string) {
	for _, key := range keys {
		if !slices.Contains(kept, key) && !slices.Contains(t.left, key) {
			t.left = append(t.left, key)
		}
	}
}

// offers says whether the lock claims a feature.
func (t *telling) offers(f Feature) bool {
	return !slices.Contains(t.settings.declined, f)
}

// verdict is given on invariants without a story, because there is none to tell
// of this lock.
func (t *telling) verdict(v Verdict, invariants ...string) {
	for _, invariant := range invariants {
		t.results[invariant] = &Result{Scenario: t.scenario.Name,
			Invariant: invariant, Verdict: v, BrokenAt: -1}
	}
}

// needsOwnServers says whether a story can't be told, because it does to a server
// what must not be done to somebody's.
func (t *telling) needsOwnServers() bool {
	return !t.disposable() && t.cannot("a server that others use, too, is not"+
		" killed, stopped or flushed")
}

// cannot says that a story can't be told on real servers, where it is to be.
func (t *telling) cannot(why string) bool {
	if t.exact() {
		return false
	}
	t.t.Logf("%s can't be told: %s", t.scenario.Name, why)
	t.verdict(CannotTell, t.scenario.Invariants...)
	for _, r := range t.results {
		r.Event = why
	}
	return true
}

// unfit is the error of a lock that can't be built, or not be taken and released
// where nothing goes wrong: no story can be told of it.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

func isUnfit(err error) bool {
	_, ok := errors.AsType[unfit](err)
	return ok
}

// built makes one owner.
func (t *telling) built(env Env) (lock.Lock, error) {
	l, err := t.build(env)
	if err != nil {
		return nil, fmt.Errorf("the lock can't be built: %w", err)
	}
	if v := reflect.ValueOf(l); !v.IsValid() ||
		v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("the lock can't be built: build returns neither" +
			" a lock nor an error")
	}
	return l, nil
}

// world runs one story in a world of its own. On real servers it is told again
// when the machine was too late for it, whatever came out: that was another
// story. So it is when it could not begin, and nothing came out. Each time it is
// told more slowly. When that does not help, the test fails.
func (t *telling) world(story func(*story), options ...worldOption) {
	t.t.Helper()
	if t.err != nil {
		return
	}
	var failed error
	for n := range tellings {
		before := maps.Clone(t.results)
		late := t.once(n, story, options...)
		unfit := isUnfit(t.err) && !t.exact()
		if late == 0 && !unfit {
			return
		}
		failed = t.err
		if late > 0 {
			failed = fmt.Errorf("the machine was late by %v",
				late.Round(time.Millisecond))
		}
		t.t.Logf("%s is told again: %v", t.scenario.Name, failed)
		order.Calm(t.settings.realLease(n)/10, 30*time.Second)
		t.results, t.err = before, nil
	}
	t.err = fmt.Errorf("each of %d times: %w", tellings, failed)
}

// tellings is how often a story is told on a machine that is too late for it.
const tellings = 6

// once runs one story for the n-th time, counted from 0, and says by how much the
// machine was too late for it.
func (t *telling) once(n int, story func(*story), options ...worldOption) (
	late time.Duration) {
	t.t.Helper()
	var world *lab.World
	var kept []string // keys that the locks keep
	err := lab.Run(t.t, t.config(n), func(w *lab.World) {
		s := &storyOf{telling: t, World: w}
		for _, option := range append([]worldOption{pace}, options...) {
			s.options = append(s.options, option(w)...)
		}
		s.options = append(s.options, t.settings.change.options()...)
		story(s)
		if late = w.Late(); late < w.TTL/10 {
			late = 0
		}
		if !s.played {
			w.Fail("the story was never played")
		}
		world = w
		kept = s.kept()
		if len(w.Failures()) > 0 {
			t.err = errors.Join(w.Failures()...)
			t.settings.change.failed(w)
			if errors.Is(t.err, order.ErrStuck) {
				return // what led to it would be endless
			}
			if len(w.Timeline()) > 0 {
				t.err = fmt.Errorf("%w\n\n%s", t.err, w.Render(-1))
			} else { // it never came to the story
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
	return late
}

// worldOption sets the locks' options in terms of the story's time.
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
// seconds. The story's times stay in step with it.
func uneven(w *lab.World) []lock.Option {
	ttl := (w.TTL * 1076 / 1000).Truncate(time.Millisecond)
	w.Pace(ttl, cmp.Or(w.Scale, 1)*float64(ttl)/float64(w.TTL))
	return nil
}

// pace is what the locks' own times are on real servers: in step with the story
// where they would else be fixed, and with room for a busy machine.
func pace(w *lab.World) []lock.Option {
	if w.Exact() {
		return []lock.Option{lock.PollEvery(w.Lasts(lock.DefaultPoll))}
	}
	return []lock.Option{lock.PollEvery(w.Lasts(lock.DefaultPoll)),
		lock.NodeTimeout(w.Lasts(second))}
}

// story is one telling in one world.
type story = storyOf

type storyOf struct {
	*lab.World
	telling *telling
	options []lock.Option
	actors  []*actor
	operate func() // what an operator does meanwhile, or nil
	played  bool
}

// actor makes a client. Actors act at different phases of a tenth of a second:
// ties decide nothing.
func (s *storyOf) actor(name string) *actor {
	a := &actor{Client: s.Client(name), owner: name, story: s,
		phase: time.Duration(len(s.actors)+1) * 7 * time.Millisecond}
	s.actors = append(s.actors, a)
	return a
}

// beside makes an actor that lives in the process of another one and uses its
// client: another owner.
func (s *storyOf) beside(a *actor, name string) *actor {
	b := &actor{Client: a.Client, owner: name, story: s,
		phase: time.Duration(len(s.actors)+1) * 7 * time.Millisecond}
	s.actors = append(s.actors, b)
	return b
}

// mortal makes an actor whose process the story will kill or stop. On real
// servers it is a process of its own.
func (s *storyOf) mortal(name string) *actor {
	a := s.actor(name)
	a.process = !s.Exact()
	return a
}

// cast makes several actors.
func (s *storyOf) cast(names ...string) []*actor {
	var cast []*actor
	for _, name := range names {
		cast = append(cast, s.actor(name))
	}
	return cast
}

// operator gives the nodes a script: what happens to them is no client's doing.
func (s *storyOf) operator(script func(o *actor)) {
	o := &actor{Client: s.Client("~"), owner: "~", story: s}
	s.operate = func() { o.Go(func() { script(o) }) }
}

// warm lets every actor take and release a lock that no story is about, twice.
// A cold script would answer NOSCRIPT and be a command of its own; so the first
// time is long enough for a renewal. The second time the commands are counted.
func (s *storyOf) warm() {
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
			l, err := s.telling.built(
				a.EnvOf(a.owner, s.warmKey(a), s.options...))
			if err != nil {
				s.Fail("%w", err)
				return
			}
			for _, work := range []time.Duration{lease * 2 / 5, 0} {
				a.Step("warms up", func() { a.Begin(lab.Acquire) })
				if granted, err := l.TryLock(ctx); err != nil || !granted {
					s.Fail("a free lock on a healthy server is not granted to"+
						" %s: %v, %v", a.Name, granted, err)
					return
				}
				a.acquires = a.Sent(lab.Acquire)
				a.grants = cmp.Or(a.Decided(lab.Acquire), 1)
				a.Sleep(work)
				a.Step("warms up", func() { a.Begin(lab.Release) })
				if err := l.Unlock(ctx); err != nil {
					s.Fail("%s can't release a lock that it holds: %v",
						a.Name, err)
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
				a.lock, err = s.telling.built(
					a.EnvOf(a.owner, s.Key, s.options...))
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

// warmKey names the lock that warms an actor up. In a Redis Cluster it lies where
// the story's lock does: the others have not seen the scripts.
func (s *storyOf) warmKey(a *actor) string {
	if !s.Exact() {
		return lock.Beside(s.Key, "warm:"+a.owner)
	}
	return s.Key + ":warm:" + a.owner
}

// kept are the Redis keys that the locks of the story declare to keep forever.
func (s *storyOf) kept() []string {
	of := s.telling.settings.keeps
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
func (s *storyOf) keys(name string) []string {
	if of := s.telling.settings.keys; of != nil {
		return of(name)
	}
	return []string{name}
}

// play warms up, starts the actors' scripts and plays them to their ends.
func (s *storyOf) play(scripts ...func()) {
	s.start()
	s.run(scripts...)
}

// start warms up and sets the clock to zero. Faults are decided after it, for
// they depend on how many commands a call takes.
func (s *storyOf) start() {
	s.warm()
	if len(s.Failures()) > 0 {
		return
	}
	s.Record()
	if began := s.telling.settings.began; began != nil {
		began(s.telling.scenario.Name)
	}
}

// run plays the scripts: one for each actor, in the order of the cast.
func (s *storyOf) run(scripts ...func()) {
	s.played = true
	if len(s.Failures()) > 0 {
		return
	}
	for _, a := range s.actors {
		s.telling.settings.change.skew(a.Client)
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
		s.Fail("the lock was granted without a command to a node: build it" +
			" on the clients in Env.Nodes, or on Env.Dial")
		return
	}
	s.Fail("the lock was granted, but no client set the key %q: tell with"+
		" scenarios.Keys which keys stand for the lock", s.Keys[0])
}

func (s *storyOf) someoneHeld() bool {
	return slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.grantedAt > 0
	})
}

// judge gives the verdict on an invariant: breaks when the world or the story
// reported any, does not arise when the story could not happen, else holds. A
// break in one world of a scenario is the scenario's.
func (s *storyOf) judge(invariant string, arose bool, aliases ...string) {
	if len(s.Failures()) > 0 {
		return // it is told instead of a verdict
	}
	t := s.telling
	r := &Result{Scenario: t.scenario.Name, Invariant: invariant,
		Verdict: Holds, BrokenAt: -1}
	var broken []*lab.Break
	for _, b := range s.Breaks(append(aliases, invariant)...) {
		b.Invariant = invariant // the mark says what the headline says
		broken = append(broken, b)
	}
	switch {
	case len(broken) > 0:
		r.Verdict = Breaks
		r.Event = broken[0].String()
		r.BrokenAt = broken[0].Entry
	case !arose || s.Unfired():
		r.Verdict = DoesNotArise
	}
	r.Sequence = s.Timeline()
	r.Timeline = s.Render(-1, append(aliases, invariant)...)
	if r.Verdict == Breaks {
		var events []string
		for _, b := range broken {
			events = append(events, b.String())
		}
		r.Assertion = assertion(*r, t.scenario.Story, s.Render(r.BrokenAt,
			append(aliases, invariant)...), events)
	}
	before, judged := t.results[invariant]
	if !judged || rank(r.Verdict) > rank(before.Verdict) {
		t.results[invariant] = r
	}
}

// rank says which verdict of several worlds speaks for the scenario.
func rank(v Verdict) int {
	return slices.Index([]Verdict{NotOffered, DoesNotArise, Holds, Breaks}, v)
}

// sooner is a moment late in a lease of the source's story; on real servers an
// earlier one, that a busy machine does not miss.
func (s *storyOf) sooner(exact, real time.Duration) time.Duration {
	if !s.Exact() {
		return real
	}
	return exact
}

// patience is how long somebody waits for what is free; on real servers longer,
// and still not until another lease ends.
func (s *storyOf) patience(exact time.Duration) time.Duration {
	if !s.Exact() {
		return max(exact, 3*second)
	}
	return exact
}
