package scenarios

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// Worlds has Run play the first n random worlds of a seed after the catalogue, the same ones each
// time. Without it these are 200 of seed 1, fewer of a lock with several nodes, and 20 in a short
// test; with 0 there are none. The flags -swarm.worlds and -swarm.seed of a test say it for one
// run; -swarm.shard 1/4 plays every fourth of them, and -swarm.world SEED/N a single one.
func Worlds(n int, seed uint64) Option {
	return func(s *settings) { s.worlds = &worlds{n: n, seed: seed} }
}

// worlds are those to play: the first n of a seed, each of-th of them from shard on.
type worlds struct {
	seed      uint64
	n         int
	shard, of int
}

// askedWorlds is what the command line of a test program asks for.
var askedWorlds struct {
	n            int
	seed         uint64
	shard, world string
}

func init() {
	if !testing.Testing() {
		return
	}
	flag.IntVar(&askedWorlds.n, "swarm.worlds", -1, "play `n` random worlds after the scenarios")
	flag.Uint64Var(&askedWorlds.seed, "swarm.seed", 1, "the `seed` of the random worlds")
	flag.StringVar(&askedWorlds.shard, "swarm.shard", "", "play part `i/n` of the random worlds")
	flag.StringVar(&askedWorlds.world, "swarm.world", "", "play one random world, `seed/n`")
}

// toPlay says which worlds are to be played.
func (s *settings) toPlay() (worlds, error) {
	w := worlds{n: max(200/s.nodes, 20), seed: 1}
	if testing.Short() {
		w.n = 20
	}
	if s.worlds != nil {
		w = *s.worlds
	}
	w.of = 1
	if askedWorlds.n >= 0 {
		w.n, w.seed = askedWorlds.n, askedWorlds.seed
	}
	if one := askedWorlds.world; one != "" {
		if fmt.Sscanf(one, "%d/%d", &w.seed, &w.shard); one != fmt.Sprintf("%d/%d", w.seed,
			w.shard) {
			return w, fmt.Errorf("-swarm.world %s: it is a seed and a number, such as 1/17", one)
		}
		w.n, w.of = w.shard+1, w.shard+1
	}
	if part := askedWorlds.shard; part != "" {
		if fmt.Sscanf(part, "%d/%d", &w.shard, &w.of); part != fmt.Sprintf("%d/%d", w.shard,
			w.of) || w.shard < 1 || w.shard > w.of {
			return w, fmt.Errorf("-swarm.shard %s: it is a part and their number, such as 1/4",
				part)
		}
		w.shard--
	}
	return w, nil
}

// played is what a story came to.
type played struct {
	breaks  []found
	history *history.History
	shared  bool  // the lock is a lock.ReadWrite
	err     error // it can't be judged
}

// found is a break in a story, and what it may follow from.
type found struct {
	*lab.Break
	flaws     []Flaw // of the catalogue; each may be the reason where it is declared
	blameless bool   // no lock can do anything about it

	history *history.History
}

// repeats are go-redis's own settings: it sends a command that was not answered up to
// three times more, and ignores deadlines. But the pauses between are no random ones.
func repeats(o *redis.Options) {
	o.MaxRetries, o.DialerRetries = 0, 0
	o.ReadTimeout, o.WriteTimeout = 0, 0
	o.ContextTimeoutEnabled = false
	o.MinRetryBackoff, o.MaxRetryBackoff = 8*time.Millisecond, 8*time.Millisecond
}

// playStory plays a story against a lock, and judges it.
func playStory(t *testing.T, build Build, story swarm.Story, s settings) played {
	t.Helper()
	s.story = &staged{story, map[string]*actor{}, map[int]time.Duration{}}
	s.key, s.lease = story.Key, story.Lease
	if story.Repeats {
		s.driver = repeats
	}
	var o played
	var left []string
	s.left = &left
	whole := &S{venue: s.venue(), t: t, scenario: Scenario{Name: "story"}, build: build,
		settings: s, results: map[string]*Result{}}
	whole.World(func() {
		whole.plays(story)
		whole.findFalseLosses()
		whole.findWrongLeases()
		whole.findBusyWaiting()
		o.breaks, o.history = whole.found(), &whole.Log().History
		o.shared = whole.actors[0].readWrite() != nil
	})
	whole.worlds()
	o.err = whole.err
	if len(o.breaks) == 0 && o.err == nil && len(left) > 0 {
		o.breaks = []found{whole.mayBe(&lab.Break{Invariant: LeftBehind,
			Event: "left forever: " + strings.Join(left, ", ")})}
	}
	return o
}

// found are the breaks in their order, each entry's first.
func (s *S) found() (all []found) {
	broken := slices.Concat(s.Broken(), s.doubts)
	slices.SortStableFunc(broken, func(a, b *lab.Break) int {
		return cmp.Compare(a.Entry, b.Entry)
	})
	for _, b := range broken {
		if !b.Apart {
			all = append(all, s.mayBe(b))
		}
	}
	return all
}

// runWorlds plays random worlds in a subtest. It fails when a lock breaks an invariant in
// one of them for no flaw that is declared or was found, and returns whether it didn't.
func (s settings) runWorlds(t *testing.T, build Build, known []Flaw) bool {
	t.Helper()
	w, err := s.toPlay()
	if err != nil {
		t.Fatal(err)
	}
	if w.n == 0 {
		return true
	}
	s.flaws, s.left = slices.Concat(s.flaws, s.sometimes, known), nil
	return t.Run(randomWorlds, func(t *testing.T) {
		t.Helper()
		s.inWorlds(t, build, w, func(text string, r *Result) (enough bool) {
			if t.Error(text); r != nil {
				s.record(t, *r)
			}
			return false
		})
	})
}

// randomWorlds is what stands for a scenario's name where a result is a random world's.
const randomWorlds = "random_worlds"

// TryWorlds plays random worlds of a seed, from the first number to the one before the last,
// until the lock breaks something in one that isn't declared. Its result is the shortest story of
// it, nil when nothing breaks; t doesn't fail. The error says why no world can be judged. Of the
// change only Rewrite is made: a world has settings and faults of its own.
func TryWorlds(t *testing.T, build Build, change Change, seed uint64, first, last int,
	opts ...Option) (broken *Result, err error) {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		return nil, err
	}
	s.change = &Change{Rewrite: change.Rewrite}
	w := worlds{seed: seed, shard: first, n: last, of: 1}
	s.inWorlds(t, build, w, func(text string, r *Result) (enough bool) {
		if broken = r; r == nil {
			err = errors.New(text)
		}
		return true
	})
	return broken, err
}

// inWorlds plays random worlds and tells the shortest story of each invariant that breaks,
// or why there is none, until that is enough.
func (s settings) inWorlds(t *testing.T, build Build, w worlds,
	tell func(text string, r *Result) (enough bool)) {
	t.Helper()
	offers := s.offersOf(t, build)
	told := map[string]bool{}
	for n := w.shard; n < w.n; n += w.of {
		story := swarm.New(w.seed, uint64(n), offers)
		s.forget(n)
		b, err := s.undeclared(t, build, story)
		switch {
		case err != nil:
			tell(fmt.Sprintf("the random world %d/%d can't be judged: %v\n%s", w.seed, n, err,
				story), nil)
			return // so may all others
		case b != nil && !told[b.Invariant]:
			told[b.Invariant] = true
			if tell(s.shortest(t, build, story, b.Invariant, w.seed, n)) {
				return
			}
		}
	}
}

// forget keeps what scripts did in other worlds from growing without end.
func (s *settings) forget(n int) {
	if n%100 == 0 {
		s.scripts = node.NewScripts()
	}
}

// offersOf is what a lock offers besides Lock.
func (s settings) offersOf(t *testing.T, build Build) swarm.Offers {
	t.Helper()
	o := swarm.Offers{Nodes: s.nodes, Nested: !slices.Contains(s.declined, Reentry),
		Fixed: !slices.Contains(s.declined, FixedLeases) && !slices.Contains(s.declined, Renewal)}
	alone := swarm.Story{Key: "lock:stock", Lease: lease, Nodes: s.nodes,
		Processes: []swarm.Process{{Name: "A", Owners: []swarm.Owner{{Name: "A"}}}}}
	o.Shared = playStory(t, build, alone, s).shared
	return o
}

// undeclared is the first break of a story, if it follows from no flaw that is known.
func (s settings) undeclared(t *testing.T, build Build, story swarm.Story) (*found, error) {
	t.Helper()
	o := playStory(t, build, story, s)
	if o.err != nil || len(o.breaks) == 0 {
		return nil, o.err
	}
	b := news(o.breaks, s.flaws)
	if b != nil {
		b.history = o.history
	}
	return b, nil
}

// excused says whether a break is no news of a lock with these flaws.
func (f found) excused(flaws []Flaw) bool {
	return f.blameless || slices.ContainsFunc(f.flaws, func(flaw Flaw) bool {
		return slices.Contains(flaws, flaw)
	})
}

// news is the first break that is news of a lock with these flaws, but for those that may
// follow from another one before. Nothing follows from a refusal.
func news(breaks []found, flaws []Flaw) *found {
	for i := range breaks {
		b := &breaks[i]
		if !b.excused(flaws) {
			return b
		}
		if b.Invariant != SelfDeadlock && b.Invariant != Unavailable {
			return nil
		}
	}
	return nil
}

// shortest tells the shortest story in which an invariant breaks for the same reason.
func (s settings) shortest(t *testing.T, build Build, story swarm.Story, invariant string,
	seed uint64, n int) (text string, r *Result) {
	t.Helper()
	story = swarm.Shrink(story, func(shorter swarm.Story) bool {
		b, err := s.undeclared(t, build, shorter)
		return err == nil && b != nil && b.Invariant == invariant
	})
	b, err := s.undeclared(t, build, story)
	if err != nil || b == nil {
		return fmt.Sprintf("world %d/%d: the same story ends in two ways: %v", seed, n, err), nil
	}
	r = &Result{Scenario: randomWorlds, Invariant: b.Invariant, Verdict: Breaks,
		Event: b.Break.String(), Timeline: b.history.Render(b.Entry, []*lab.Break{b.Break}),
		Sequence: b.history.Entries, BrokenAt: b.Entry, Story: story.String()}
	return fmt.Sprintf("a flaw that is not declared: %s, in the random world %d/%d\n\n%s\n\n%s\n"+
		"To play it again: go test -run '^%s$/^random_worlds$' -swarm.world %[2]d/%[3]d", r.Invariant, seed, n,
		strings.Join(terminal.Wrap(r.Story, terminal.Columns, 0), "\n"), r.Timeline, s.lock), r
}
