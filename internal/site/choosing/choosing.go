// Package choosing says which lock is for which job: it compares what the jobs
// need with what the locks did in the scenarios, and with what they cost in the
// measured run of docs/choosing.json.
package choosing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/results"
	"github.com/lockladder/lockladder/scenarios"
)

// stores are where a lock can live, the ladder's Redis apart. The locks of one
// store need the same servers.
var stores = []struct {
	family  string
	results string // their name in docs/results
	prefix  string // what the measured run has before the names
}{
	{"Redis: a library", "libraries", ""},
	{"MariaDB", "mysql", "mysql/"},
	{"ZooKeeper", "zookeeper", "zookeeper/"},
	{"etcd", "etcd", ""},
}

const ladderFamily = "Redis: the ladder"

// Elsewhere are the scenarios that are tests of their own in the other stores,
// because they need more than one server. File is below field.
var Elsewhere = []struct {
	family, invariant string
	verdict           scenarios.Verdict
	File, Test        string
}{
	{"MariaDB", "failover: two holders", scenarios.Breaks,
		"mysql/cautions_test.go", "TestAReplicaMayNotKnowTheLock"},
	{"ZooKeeper", "failover: two holders", scenarios.Holds,
		"zookeeper/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
	{"etcd", "failover: two holders", scenarios.Holds,
		"etcd/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
}

// Candidate is a lock, its verdicts by "scenario: invariant", and what it cost.
type Candidate struct {
	Name, Family string
	Verdicts     map[string]scenarios.Verdict
	Cost         *bench.Row // nil where it was not measured
}

// Choice is all locks, and the measured run.
type Choice struct {
	Candidates []Candidate
	Run        bench.Report
}

// Read makes the choice between the rungs and the locks of docs/results; root is
// the module.
func Read(root fs.FS, rungs []results.Lock) (*Choice, error) {
	content, err := fs.ReadFile(root, "docs/choosing.json")
	if err != nil {
		return nil, err
	}
	c := &Choice{}
	if err := json.Unmarshal(content, &c.Run); err != nil {
		return nil, fmt.Errorf("docs/choosing.json: %w", err)
	}
	c.add(ladderFamily, "", rungs)
	for _, store := range stores {
		locks, err := results.Read(root, store.results)
		if err != nil {
			return nil, err
		}
		c.add(store.family, store.prefix, locks)
	}
	return c, nil
}

func (c *Choice) add(family, prefix string, locks []results.Lock) {
	for _, lock := range locks {
		candidate := Candidate{Name: prefix + lock.Name, Family: family,
			Verdicts: maps.Clone(lock.Verdicts)}
		for _, e := range Elsewhere {
			if e.family == family {
				candidate.Verdicts[e.invariant] = e.verdict
			}
		}
		for i, row := range c.Run.Rows {
			if row.Name() == candidate.Name {
				candidate.Cost = &c.Run.Rows[i]
			}
		}
		c.Candidates = append(c.Candidates, candidate)
	}
}

// Fits says whether a lock holds all that a job needs. It doesn't hold an invariant
// of a feature that it doesn't offer, nor one that can't be tested on its servers.
func (c Candidate) Fits(job Job) bool {
	for _, must := range job.Arise {
		if c.Verdicts[must] != scenarios.Holds {
			return false
		}
	}
	for _, need := range job.Needs {
		answers := 0
		for invariant, verdict := range c.Verdicts {
			if invariant != need && !strings.HasPrefix(invariant, need+":") {
				continue
			}
			answers++
			if verdict != scenarios.Holds && verdict != scenarios.DoesNotArise {
				return false
			}
		}
		if answers == 0 {
			return false
		}
	}
	return true
}

// broken is how many of the catalogue's invariants the lock breaks.
func (c Candidate) broken() int {
	count := 0
	for _, verdict := range c.Verdicts {
		if verdict == scenarios.Breaks {
			count++
		}
	}
	return count
}

func (c Candidate) ratio() float64 {
	if c.Cost == nil || c.Cost.Ratio() == nil {
		return 0
	}
	return *c.Cost.Ratio()
}

// Table is the decision table: for each job and each family the fastest lock that
// holds what the job needs. Of locks that the run can't tell apart, it is the one
// with the fewest servers.
func (c *Choice) Table() string {
	families := []string{ladderFamily}
	for _, store := range stores {
		families = append(families, store.family)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| the job | %s |\n|---|%s\n", strings.Join(families, " | "),
		strings.Repeat("---|", len(families)))
	for i, job := range Jobs {
		fmt.Fprintf(&b, "| %d. %s |", i+1, job.Name)
		for _, family := range families {
			fitting := slices.DeleteFunc(slices.Clone(c.Candidates),
				func(c Candidate) bool {
					return c.Family != family || c.Cost == nil || !c.Fits(job)
				})
			if len(fitting) == 0 {
				b.WriteString(" none |")
				continue
			}
			best := First(fitting)
			fmt.Fprintf(&b, " %s, %.2f", best.Name, best.ratio())
			switch others := len(fitting) - 1; others {
			case 0:
			case 1:
				b.WriteString("; 1 other")
			default:
				fmt.Fprintf(&b, "; %d others", others)
			}
			b.WriteString(" |")
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// First is the fastest one, or one on fewer servers of which some round was as fast
// as a round of the fastest.
func First(candidates []Candidate) Candidate {
	fastestFirst(candidates)
	best := candidates[0]
	slowest, _ := best.rounds()
	for _, c := range candidates {
		if _, fastest := c.rounds(); fastest >= slowest &&
			c.Cost.Count("nodes") < best.Cost.Count("nodes") {
			best = c
		}
	}
	return best
}

// rounds are the ratios of the slowest round and of the fastest.
func (c Candidate) rounds() (slowest, fastest float64) {
	all := append(c.Cost.Ratios(), c.ratio())
	return slices.Min(all), slices.Max(all)
}

func fastestFirst(candidates []Candidate) {
	slices.SortStableFunc(candidates, func(a, b Candidate) int {
		return cmp.Compare(b.ratio(), a.ratio())
	})
}

// Costs is what each lock cost in the measured run, the fastest first.
func (c *Choice) Costs() string {
	all := slices.Clone(c.Candidates)
	fastestFirst(all)
	var b strings.Builder
	fmt.Fprint(&b, "| lock | lives in | breaks | times serial | ± % |"+
		" acquisitions/s | wait p50 ms | wait max ms | in order % |\n"+
		"|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		if c.Cost == nil {
			continue
		}
		family, _, _ := strings.Cut(c.Family, ":")
		r := c.Cost
		if r.Count("nodes") > 1 {
			family += fmt.Sprintf(", %d servers", r.Count("nodes"))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %.3f | %s | %s | %s | %s | %.0f |\n",
			c.Name, family, c.broken(), c.ratio(), r.Show("spread", 0),
			r.Show("acquisitions_per_second", 0), r.Show("wait_ms.p50", 0),
			r.Show("wait_ms.max", 0), 100**r.Number("in_order"))
	}
	return b.String()
}

// lockless are the rows that sell without a lock and compare, or let the server do
// it in one step.
var lockless = []string{"lua-decrement", "watch-multi", "mysql/optimistic",
	"mysql/optimistic-timestamp"}

// Without is what they did in the measured run, as far as it has them.
func (c *Choice) Without() string {
	var b strings.Builder
	fmt.Fprint(&b, "| without a lock | times serial | sold | left | retries |\n"+
		"|---|--:|--:|--:|--:|\n")
	for _, name := range lockless {
		for _, r := range c.Run.Rows {
			if r.Name() != name {
				continue
			}
			fmt.Fprintf(&b, "| %s | %.3f | %s | %s | %s |\n", name,
				Candidate{Cost: &r}.ratio(), r.Show("sold", 0), r.Show("left", 0),
				r.Show("retries", 0))
		}
	}
	return b.String()
}

// Where names the machine of the measured run.
func (c *Choice) Where() string {
	env, row := c.Run.Env, c.Run.Rows[0]
	return fmt.Sprintf("%d clients at one instant, %d rounds; Redis %s, %s %s/%s,"+
		" %d CPUs (%s), commit %s.\n", row.Count("table_clients"), len(row.Rounds),
		*env.ServerVersion, env.Go, env.OS, env.Arch, env.CPUs, *env.CPU,
		*env.Commit)
}
