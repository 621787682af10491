package scenarios_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// enough is how many worlds show every flaw that the ladder declares, or as many as the
// command line asks for.
func enough() int {
	if n := flag.Lookup("swarm.worlds").Value.(flag.Getter).Get().(int); n >= 0 {
		return n
	}
	return 2000
}

// The random worlds know nothing of the catalogue but which flaw a break may be. In the
// first ones of seed 1 they find every flaw of every rung, and nothing else.
func TestRandomWorldsFindWhatTheLadderDeclares(t *testing.T) {
	locktest.WhenNamed(t, "it takes minutes: go test ./scenarios -v -timeout 1h -run RandomWorldsFind")
	rows := make([]string, len(ladder.Rungs))
	t.Run("rungs", func(t *testing.T) {
		for i, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				rows[i] = foundIn(t, rung)
			})
		}
	})
	t.Log("rung, flaws, the last one is found in world, it is, steps of the shortest stories:" +
		" median, most\n" + strings.Join(rows, ""))
}

// foundIn is the row of a rung: how many worlds it takes to find its flaws, and how many
// steps the shortest stories have.
func foundIn(t *testing.T, rung ladder.Rung) string {
	in := map[lock.Flaw]swarm.Story{}
	last, at := lock.Flaw{}, 0
	options := locktest.Options(rung)
	scenarios.EachWorld(t, rung.Build, enough(), func(w scenarios.World) bool {
		assert.Empty(t, w.News(rung.Flaws), "world %d/%d\n%v", w.Seed, w.N, w.Story)
		for _, f := range rung.Flaws {
			if _, found := in[f]; !found && w.Shows(f) {
				in[f], last, at = w.Story, f, w.N
			}
		}
		return false
	}, options...)
	var steps []int
	for _, f := range rung.Flaws {
		if story, found := in[f]; assert.True(t, found, "no world shows %v", f) {
			steps = append(steps, scenarios.Shortest(t, rung.Build, story, f, options...).Steps())
		}
	}
	slices.Sort(steps)
	return fmt.Sprintf("%s, %d, %d, %s: %s, %d, %d\n", rung.Name, len(rung.Flaws), at+1,
		last.Scenario, last.Invariant, steps[len(steps)/2], steps[len(steps)-1])
}

// What a seed makes, and how it is played, depends on nothing else.
func TestAWorldIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range []string{"gold", "reentrant/notify", "redlock"} {
		rung := locktest.Find(t, name)
		var timelines []string
		for _, processors := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(processors)
			scenarios.EachWorld(t, rung.Build, 20, func(w scenarios.World) bool {
				if processors == 1 {
					timelines = append(timelines, w.Timeline())
				}
				return !assert.True(t, timelines[w.N] == w.Timeline(), "%s: world 1/%d on %d"+
					" processors", name, w.N, processors)
			}, locktest.Options(rung)...)
		}
	}
}

// Nobody has told Run that diamond's holder may be late for its own lease.
func TestARandomWorldIsToldAsShortlyAsItCanBe(t *testing.T) {
	rung := locktest.Find(t, "diamond")
	known := slices.DeleteFunc(slices.Clone(rung.Flaws), func(f lock.Flaw) bool {
		return f.Scenario == "late_grant" || f.Scenario == "overrun_overlap"
	})
	said := scenarios.InWorlds(t, rung.Build, 5, scenarios.Flaws(known...),
		scenarios.WithoutFeatures(scenarios.Renewal))
	require.NotEmpty(t, said)
	generated.Compare(t, "swarm.md", "story", "```\n"+said[0]+"\n```\n")
}

// No scenario shows these mistakes; the worlds of everybody's run do.
func TestWorldsShowWhatNoScenarioDoes(t *testing.T) {
	options := []scenarios.Option{scenarios.WithoutFeatures(scenarios.Reentry)}
	known := broken(t, wrong.Mistakes{}.Build, nil, options)
	others := slices.DeleteFunc(slices.Clone(known), func(f lock.Flaw) bool { return f.Scenario == "held_token" }) // a loss may follow from it
	for says, m := range map[string]wrong.Mistakes{"connections in use": {Listens: true}, "every other renewal": {Slows: true}} {
		shown := false
		scenarios.EachWorld(t, m.Build, 200, func(w scenarios.World) bool {
			shown = strings.Contains(w.News(others), says)
			return shown
		}, options...)
		assert.True(t, shown, says)
		assert.Subset(t, known, broken(t, m.Build, nil, options), says)
	}
}

// power counts the wrong locks that random worlds catch.
type power struct {
	mu      sync.Mutex
	all     int
	escaped []string
}

// newPower says at the end of a test which locks have escaped: at most one of ten may.
func newPower(t *testing.T) *power {
	p := &power{}
	t.Cleanup(func() {
		slices.Sort(p.escaped)
		assert.LessOrEqual(t, 10*len(p.escaped), p.all, "too many escape")
		t.Logf("the random worlds catch %d of %d; these escape:\n%s", p.all-len(p.escaped),
			p.all, strings.Join(p.escaped, "\n"))
	})
	return p
}

// catches plays worlds with a wrong lock until one shows something new of a lock with these
// flaws, that it doesn't show of the right lock.
func (p *power) catches(t *testing.T, wrong, right lock.Build, flaws []lock.Flaw,
	options ...scenarios.Option) {
	caught := false
	options = append(options, scenarios.Flaws(flaws...))
	scenarios.EachWorld(t, wrong, enough(), func(w scenarios.World) bool {
		said := w.News(flaws)
		caught = said != "" &&
			(right == nil || scenarios.Again(t, right, w, options...).News(flaws) == "")
		if caught {
			t.Logf("world %d/%d: %s\n%s", w.Seed, w.N, said, w.Story)
		}
		return caught
	}, options...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all++; !caught {
		p.escaped = append(p.escaped, t.Name())
	}
}

func TestWorldsCatchRungsWithAMistake(t *testing.T) {
	locktest.WhenNamed(t, "it takes minutes: go test ./scenarios -v -timeout 1h -run WorldsCatch")
	p := newPower(t)
	eachEdited(t, func(t *testing.T, _ wrong.Mutant, rung ladder.Rung, build lock.Build) {
		p.catches(t, build, nil, rung.Flaws, locktest.Options(rung)...)
	})
}

// Of a lock that is no rung the catalogue says what it breaks besides its mistake.
func TestWorldsCatchOtherWrongLocks(t *testing.T) {
	locktest.WhenNamed(t, "it takes minutes: go test ./scenarios -v -timeout 1h -run WorldsCatch")
	p := newPower(t)
	for _, m := range wrong.All {
		if m.Build == nil || m.Killers == nil && m.Walk == nil {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			build, options := m.Build(), []scenarios.Option{scenarios.Nodes(max(m.Nodes, 1))}
			if m.Walk == nil {
				p.catches(t, build, nil, broken(t, build, m.Killers, options), options...)
				return
			}
			right := m.Walk.Right
			if right == nil {
				right = wrong.Mistakes{}.Build
			}
			options = append(options, scenarios.Nodes(max(m.Walk.Bounds.Nodes, 1)))
			if end := m.Walk.Bounds.LeaseInValue; end != nil {
				options = append(options, scenarios.LeaseInValue(end))
			}
			p.catches(t, build, right, broken(t, right, nil, options), options...)
		})
	}
}

// broken is what a lock breaks in the catalogue, but for what kills it. A scenario may fail.
func broken(t *testing.T, build lock.Build, killers []string,
	options []scenarios.Option) (flaws []lock.Flaw) {
	for _, s := range scenarios.Catalogue {
		results, _ := scenarios.RunOne(t, s.Name, build, options...)
		for _, r := range results {
			if r.Verdict == scenarios.Breaks &&
				!slices.Contains(killers, r.Scenario+": "+r.Invariant) {
				flaws = append(flaws, lock.Flaw{Scenario: r.Scenario, Invariant: r.Invariant})
			}
		}
	}
	return flaws
}
