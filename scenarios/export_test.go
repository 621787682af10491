package scenarios

import (
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// Watched has somebody told that a scenario begins, and all that servers
// are sent.
func Watched(begins func(scenario string), sees func(node int,
	from *server.Peer, command string, args []string)) Option {
	return func(s *settings) { s.began, s.seen = begins, sees }
}

// Most is how many things happen in a second before the lock counts as stuck.
func Most(n int) Option { return func(s *settings) { s.most = n } }

// Driver changes the settings of the clients in virtual time.
func Driver(set func(*redis.Options)) Option {
	return func(s *settings) { s.driver = set }
}

// Refusal is why no run could meet the options.
func Refusal(build Build, opts ...Option) error {
	_, err := configure(build, opts)
	return err
}

// executed are the scripts of all locks that RunOne has run.
var executed = node.NewScripts()

// RunOne runs one scenario and returns its results instead of failing the test.
func RunOne(t *testing.T, name string, build Build, opts ...Option) (
	[]Result, error) {
	t.Helper()
	s, err := configure(build, append(opts, func(s *settings) { s.scripts = executed }))
	if err != nil {
		return nil, err
	}
	scenario, err := Find(name)
	if err != nil {
		return nil, err
	}
	return runScenario(t, scenario, build, *s)
}

// World is a random world that was played, and what broke in it, in order.
type World struct {
	N        int
	Story    swarm.Story
	Broken   []Found
	Timeline func() string
}

// Found is a break in a story, or why the story can't be judged.
type Found struct {
	Invariant, Event string
	Flaws            []Flaw
	Blameless        bool
}

// Excused says whether the break is no news of a lock with these flaws.
func (f Found) Excused(flaws []Flaw) bool {
	return f.Blameless || slices.ContainsFunc(f.Flaws, func(flaw Flaw) bool {
		return slices.Contains(flaws, flaw)
	})
}

// Shows says whether a break may follow from a flaw.
func (w World) Shows(flaw Flaw) bool {
	return slices.ContainsFunc(w.Broken, func(f Found) bool {
		return slices.Contains(f.Flaws, flaw)
	})
}

// Again plays a world with another lock.
func Again(t *testing.T, build Build, w World, opts ...Option) World {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s.playWorld(t, build, w.N, w.Story)
}

// Shortest is the shortest story with a break that may follow from a flaw.
func Shortest(t *testing.T, build Build, story swarm.Story, flaw Flaw,
	opts ...Option) swarm.Story {
	t.Helper()
	return swarm.Shrink(story, func(shorter swarm.Story) bool {
		return Again(t, build, World{Story: shorter}, opts...).Shows(flaw)
	})
}

// EachWorld plays the first random worlds of seed 1 against a lock, until hear has heard
// enough.
func EachWorld(t *testing.T, build Build, n int, hear func(World) (enough bool),
	opts ...Option) {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		t.Fatal(err)
	}
	offers := s.offersOf(t, build)
	for i := range n {
		s.forget(i)
		w := s.playWorld(t, build, i, swarm.New(1, uint64(i), offers))
		if hear(w) {
			return
		}
	}
}

func (s settings) playWorld(t *testing.T, build Build, n int, story swarm.Story) World {
	t.Helper()
	w := World{N: n, Story: story}
	o := playStory(t, build, story, s)
	if o.err != nil {
		w.Broken = []Found{{Invariant: "can't be judged", Event: o.err.Error()}}
	}
	for _, b := range o.breaks {
		w.Broken = append(w.Broken, Found{b.Invariant, b.Event, b.flaws, b.blameless})
	}
	w.Timeline = func() string { return o.history.Render(-1, nil) }
	return w
}

// InWorlds is what Run says of the first random worlds of seed 1.
func InWorlds(t *testing.T, build Build, n int, opts ...Option) (said []string) {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.lock = "TestMyLock"
	s.inWorlds(t, build, worlds{seed: 1, n: n, of: 1}, func(text string) {
		said = append(said, text)
	})
	return said
}
