package pages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// Job is something that a lock is for, and what the lock must hold for it.
type Job struct {
	Name  string
	Needs []string // scenarios, or scenario: invariant
	Arise []string // scenario: invariant that must also arise, and then hold
}

// once is what every job needs: no client locks the others out forever, and none
// releases another client's lock.
var once = []string{"mutual_exclusion", "crash_holding",
	"crash_after_first_command", "abandoned_acquire", "lost_reply: orphaned",
	"overrun_release", "slow_get", "slow_release", "late_own_release",
	"lost_release_reply", "unlock_not_held", "simultaneous_takeover"}

// outlasts is what work needs that may take longer than a lease.
var outlasts = append(slices.Clone(once), "overrun_overlap", "oversell",
	"late_grant")

// Token arises only where a grant has a fencing token.
const Token = "lost_reply: wrong token"

// Jobs are all of them, in the order of the page.
var Jobs = []Job{
	{Name: "A second run is only a waste: a cache is refilled, a report is made",
		Needs: once},
	{Name: "A second run is only a waste, and a worker that hangs must not" +
		" stop the rest", Needs: append(slices.Clone(once), "hung_worker")},
	{Name: "The work may take longer than the lease", Needs: outlasts},
	{Name: "It may take longer, and a function that holds the lock calls one" +
		" that takes it",
		Needs: append(slices.Clone(outlasts), "nested: self-deadlock",
			"nested: foreign release", "lost_reply: self-deadlock")},
	{Name: "It may take longer, and a holder that is cut off must learn of it" +
		" in time",
		Needs: append(slices.Clone(outlasts), "partitioned_holder")},
	{Name: "A process may be paused, and nothing stale may be written; the" +
		" storage can check a number",
		Needs: append(slices.Clone(once), "paused_holder"),
		Arise: []string{Token}},
	{Name: "A server may be replaced by a copy that lags",
		Needs: append(slices.Clone(once), "failover: two holders")},
	{Name: "A server may restart",
		Needs: append(slices.Clone(once), "node_restart")},
}

// needs is what each job needs, in the scenarios' words.
func needs(*Generator) string {
	var b strings.Builder
	for i, job := range Jobs {
		needs, all := job.Needs, ""
		for j, earlier := range Jobs[:i] {
			if rest, found := after(job.Needs, earlier.Needs); found {
				needs, all = rest, fmt.Sprintf("as in %d, and ", j+1)
			}
		}
		fmt.Fprintf(&b, "%d. %s: %s`%s`", i+1, job.Name, all,
			strings.Join(needs, "`, `"))
		for _, must := range job.Arise {
			fmt.Fprintf(&b, ", and `%s`, which arises only where a grant has"+
				" a token: here it must", must)
		}
		fmt.Fprintln(&b, ".")
	}
	return b.String()
}

// after is what follows a beginning.
func after(all, beginning []string) (rest []string, found bool) {
	if len(all) <= len(beginning) ||
		!slices.Equal(all[:len(beginning)], beginning) {
		return nil, false
	}
	return all[len(beginning):], true
}

// stores are where a lock can live. The locks of one store need the same servers.
var stores = []struct {
	name    string
	results string // their name in docs/results; "": the ladder's rungs
	prefix  string // what the measured run has before the names
}{
	{"Redis: the ladder", "", ""},
	{"Redis: a library", "libraries", ""},
	{"MariaDB", "mysql", "mysql/"},
	{"ZooKeeper", "zookeeper", "zookeeper/"},
	{"etcd", "etcd", ""},
}

// Elsewhere are the scenarios that are tests of their own in the other stores,
// because they need more than one server. File is below field.
var Elsewhere = []struct {
	store, invariant string
	verdict          scenarios.Verdict
	File, Test       string
}{
	{"MariaDB", "failover: two holders", scenarios.Breaks,
		"mysql/cautions_test.go", "TestAReplicaMayNotKnowTheLock"},
	{"ZooKeeper", "failover: two holders", scenarios.Holds,
		"zookeeper/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
	{"etcd", "failover: two holders", scenarios.Holds,
		"etcd/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
}

// Measured is the run of docs/choosing.json: of what a benchmark writes, the figures that
// the page shows.
type Measured struct {
	Env  map[string]any `json:"env"`
	Rows []Cost         `json:"rows"`
}

// Cost is a row of it, see bench.Row.
type Cost struct {
	Lock      string     `json:"rung"`
	Kind      bench.Kind `json:"kind"`
	Nodes     int        `json:"nodes"`
	Clients   int        `json:"table_clients"`
	Finished  bool       `json:"finished"`
	Holders   *int64     `json:"max_holders"`
	Sold      int64      `json:"sold"`
	Oversold  int64      `json:"oversold"`
	Left      *int64     `json:"left"`
	Retries   *int64     `json:"retries"`
	PerSecond float64    `json:"acquisitions_per_second"`
	Wait      struct {
		P50 float64 `json:"p50"`
		Max float64 `json:"max"`
	} `json:"wait_ms"`
	InOrder *float64 `json:"in_order"`
	Ratio   float64  `json:"ratio_to_serial"`
	Rounds  []Ratio  `json:"rounds"`
}

// Ratio is the speed of one round of a row.
type Ratio struct {
	Ratio float64 `json:"ratio_to_serial"`
}

// rounds are the ratios of the slowest round and of the fastest.
func (c *Cost) rounds() (slowest, fastest float64) {
	slowest, fastest = c.Ratio, c.Ratio
	for _, round := range c.Rounds {
		slowest, fastest = min(slowest, round.Ratio), max(fastest, round.Ratio)
	}
	return slowest, fastest
}

// Candidate is a lock, and what it cost.
type Candidate struct {
	generated.Lock
	Store string
	Cost  *Cost // nil where it was not measured
}

// measured is the file of the measured run.
const measured = "docs/choosing.json"

// choose reads the measured run and what the locks of docs/results did.
func (g *Generator) choose() error {
	text, err := g.source(measured)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &g.Measured); err != nil {
		return fmt.Errorf("%s: %w", measured, err)
	}
	for _, store := range stores {
		locks := g.Rungs
		if store.results != "" {
			if locks, err = generated.Kept(g.root, store.results); err != nil {
				return err
			}
		}
		for _, lock := range locks {
			c := Candidate{Lock: lock, Store: store.name}
			c.Name, c.Verdicts = store.prefix+lock.Name, maps.Clone(lock.Verdicts)
			for _, e := range Elsewhere {
				if e.store == store.name {
					c.Verdicts[e.invariant] = e.verdict
				}
			}
			for i, row := range g.Measured.Rows {
				if row.Lock == c.Name {
					c.Cost = &g.Measured.Rows[i]
				}
			}
			g.Candidates = append(g.Candidates, c)
		}
	}
	return nil
}

// text is the file with a line for each row, and nothing that no page shows.
func (m Measured) text() (string, error) {
	env, err := json.Marshal(m.Env)
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"env\":%s,\n\"rows\":[", env)
	for i, row := range m.Rows {
		line, failed := json.Marshal(row)
		err = cmp.Or(err, failed)
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%s", line)
	}
	b.WriteString("]}\n")
	return b.String(), err
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

// choices is the decision table: for each job and each store the fastest lock that
// holds what the job needs. Of locks that the run can't tell apart, it is the one
// with the fewest servers.
func (g *Generator) choices() string {
	head := []string{"the job"}
	for _, store := range stores {
		head = append(head, store.name)
	}
	var rows [][]string
	for i, job := range Jobs {
		row := []string{fmt.Sprintf("%d. %s", i+1, job.Name)}
		for _, store := range stores {
			row = append(row, First(slices.DeleteFunc(slices.Clone(g.Candidates),
				func(c Candidate) bool {
					return c.Store != store.name || c.Cost == nil || !c.Fits(job)
				})))
		}
		rows = append(rows, row)
	}
	return generated.Table(len(head), head, rows)
}

// First is the fastest one, or one on fewer servers of which some round was as fast
// as a round of the fastest, and how many others there are.
func First(fitting []Candidate) string {
	if len(fitting) == 0 {
		return "none"
	}
	fastestFirst(fitting)
	best := fitting[0]
	slowest, _ := best.Cost.rounds()
	for _, c := range fitting {
		if _, fastest := c.Cost.rounds(); fastest >= slowest &&
			c.Cost.Nodes < best.Cost.Nodes {
			best = c
		}
	}
	others := ""
	switch n := len(fitting) - 1; n {
	case 0:
	case 1:
		others = "; 1 other"
	default:
		others = fmt.Sprintf("; %d others", n)
	}
	return fmt.Sprintf("%s, %.2f%s", best.Name, best.Cost.Ratio, others)
}

func fastestFirst(measured []Candidate) {
	slices.SortStableFunc(measured, func(a, b Candidate) int {
		return cmp.Compare(b.Cost.Ratio, a.Cost.Ratio)
	})
}

// costs is what each lock cost in the measured run, the fastest first.
func (g *Generator) costs() string {
	all := slices.DeleteFunc(slices.Clone(g.Candidates), func(c Candidate) bool {
		return c.Cost == nil
	})
	fastestFirst(all)
	var b strings.Builder
	fmt.Fprint(&b, "| lock | lives in | breaks | times serial | ± % |"+
		" acquisitions/s | wait p50 ms | wait max ms | in order % |\n"+
		"|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		store, _, _ := strings.Cut(c.Store, ":")
		if c.Cost.Nodes > 1 {
			store += fmt.Sprintf(", %d servers", c.Cost.Nodes)
		}
		broken := 0
		for _, verdict := range c.Verdicts {
			if verdict == scenarios.Breaks {
				broken++
			}
		}
		slowest, fastest := c.Cost.rounds()
		fmt.Fprintf(&b, "| %s | %s | %d | %.3f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
			c.Name, store, broken, c.Cost.Ratio, 50*(fastest-slowest)/c.Cost.Ratio,
			c.Cost.PerSecond, c.Cost.Wait.P50, c.Cost.Wait.Max, 100**c.Cost.InOrder)
	}
	return b.String()
}

// without is what those did in the measured run that sell without a lock and compare, or
// let the server do it in one step.
func (g *Generator) without() string {
	count := func(n *int64) string {
		if n == nil {
			return "–"
		}
		return fmt.Sprint(*n)
	}
	var b strings.Builder
	fmt.Fprint(&b, "| without a lock | times serial | sold | left | retries |\n"+
		"|---|--:|--:|--:|--:|\n")
	for _, name := range []string{"lua-decrement", "watch-multi", "mysql/optimistic",
		"mysql/optimistic-timestamp"} {
		for _, r := range g.Measured.Rows {
			if r.Lock == name {
				fmt.Fprintf(&b, "| %s | %.3f | %d | %s | %s |\n", name, r.Ratio, r.Sold,
					count(r.Left), count(r.Retries))
			}
		}
	}
	return b.String()
}

// where names the machine of the measured run.
func (g *Generator) where() string {
	env, row := g.Measured.Env, g.Measured.Rows[0]
	return fmt.Sprintf("%d clients at one instant, %d rounds; Redis %s, %s %s/%s,"+
		" %v CPUs (%s), commit %s.\n", row.Clients, len(row.Rounds),
		env["server_version"], env["go"], env["os"], env["arch"], env["cpus"], env["cpu"],
		env["commit"])
}
