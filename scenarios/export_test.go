package scenarios

import (
	"slices"
	"testing"

	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// Most is how many things happen in a second before the lock counts as stuck.
func Most(n int) Option { return func(s *settings) { s.most = n } }

// Refusal is why no run could meet the options.
func Refusal(build Build, opts ...Option) error {
	_, err := configure(build, opts)
	return err
}

// executed are the scripts of all locks that RunOne has run.
var executed = node.NewScripts()

// RunOne runs one scenario and returns its results instead of failing the test.
func RunOne(t *testing.T, name string, build Build, opts ...Option) ([]Result, error) {
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
	Seed     uint64
	N        int
	Story    swarm.Story
	Err      error // it can't be judged
	Timeline func() string
	breaks   []found
}

// News is the first break that is news of a lock with these flaws, or why the world can't
// be judged; "" when there is none.
func (w World) News(flaws []Flaw) string {
	if w.Err != nil {
		return w.Err.Error()
	}
	if b := news(w.breaks, flaws); b != nil {
		return b.Invariant + ": " + b.Event
	}
	return ""
}

// Shows says whether a break may follow from a flaw.
func (w World) Shows(flaw Flaw) bool {
	return slices.ContainsFunc(w.breaks, func(f found) bool {
		return slices.Contains(f.flaws, flaw)
	})
}

// Again plays a world with another lock.
func Again(t *testing.T, build Build, w World, opts ...Option) World {
	t.Helper()
	return configured(t, build, opts).playWorld(t, build, w.Seed, w.N, w.Story)
}

func configured(t *testing.T, build Build, opts []Option) *settings {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Shortest is the shortest story with a break that may follow from a flaw.
func Shortest(t *testing.T, build Build, story swarm.Story, flaw Flaw, opts ...Option) swarm.Story {
	t.Helper()
	return swarm.Shrink(story, func(shorter swarm.Story) bool {
		return Again(t, build, World{Story: shorter}, opts...).Shows(flaw)
	})
}

// EachWorld plays the first random worlds of a seed against a lock, of 1 unless the command
// line says another, until hear has heard enough.
func EachWorld(t *testing.T, build Build, n int, hear func(World) (enough bool), opts ...Option) {
	t.Helper()
	s := configured(t, build, opts)
	offers := s.offersOf(t, build)
	for i := range n {
		s.forget(i)
		seed := askedWorlds.seed
		if hear(s.playWorld(t, build, seed, i, swarm.New(seed, uint64(i), offers))) {
			return
		}
	}
}

func (s settings) playWorld(t *testing.T, build Build, seed uint64, n int,
	story swarm.Story) World {
	t.Helper()
	o := playStory(t, build, story, s)
	return World{Seed: seed, N: n, Story: story, Err: o.err, breaks: o.breaks,
		Timeline: func() string { return o.history.Render(-1, nil) }}
}

// InWorlds is what Run says of the first random worlds of seed 1.
func InWorlds(t *testing.T, build Build, n int, opts ...Option) (said []string) {
	t.Helper()
	s := configured(t, build, opts)
	s.lock = "TestMyLock"
	s.inWorlds(t, build, worlds{seed: 1, n: n, of: 1}, func(text string, _ *Result) bool {
		said = append(said, text)
		return false
	})
	return said
}
