package scenarios_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

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
