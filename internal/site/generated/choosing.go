package generated

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/scenarios"
)

// Job is something that a lock is for, and what the lock must hold for it.
type Job struct {
	Name  string
	After int      // the job, counted from 1, whose needs this one has too; 0: none
	Needs []string // scenarios, or scenario: invariant
	Token bool     // a grant must have a fencing token
}

// token arises only where a grant has a fencing token.
const token = "tokens_rise: wrong token"

// Jobs are all of them, in the order of the page. What the first one needs, every job
// does: no client locks the others out forever, and none releases another client's lock.
var Jobs = []Job{
	{Name: "A second run only wastes work, such as refilling a cache or making a report",
		Needs: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command", "abandoned_acquire", "lost_reply: orphaned",
			"overrun_release", "slow_get", "slow_release", "late_own_release",
			"lost_release_reply", "unlock_not_held", "simultaneous_takeover"}},
	{Name: "A second run only wastes work, and a worker that hangs must not" +
		" stop the rest", After: 1, Needs: []string{"hung_worker"}},
	{Name: "The work may take longer than the lease", After: 1,
		Needs: []string{"overrun_overlap", "oversell", "late_grant"}},
	{Name: "It may take longer, and a function that holds the lock calls one" +
		" that takes it too", After: 3, Needs: []string{"nested: self-deadlock",
		"nested: foreign release", "lost_reply: self-deadlock"}},
	{Name: "It may take longer, and a holder that is cut off must learn of it" +
		" in time", After: 3, Needs: []string{"partitioned_holder"}},
	{Name: "A process may be paused, and nothing stale may be written; the" +
		" storage can check a number", After: 1, Needs: []string{"paused_holder",
		"lost_reply: wrong token"}, Token: true},
	{Name: "A server may be replaced by a copy that lags", After: 1,
		Needs: []string{"failover: two holders"}},
	{Name: "A server may restart", After: 1, Needs: []string{"node_restart"}},
}

// needs is what each job needs, in the scenarios' words.
func needs(*Generator) string {
	var b strings.Builder
	for i, job := range Jobs {
		all := ""
		if job.After > 0 {
			all = fmt.Sprintf("as in %d, and ", job.After)
		}
		fmt.Fprintf(&b, "%d. %s: %s`%s`", i+1, job.Name, all, strings.Join(job.Needs, "`, `"))
		if job.Token {
			b.WriteString(", and `" + token + "`, for which the lock must have a token")
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// stores are where a lock can live. The locks of one store need the same servers.
var stores = []struct {
	name    string
	results string // their name in docs/results; "": the ladder's rungs
	prefix  string // what the measured run has before the names

	// failover is the verdict of a test of its own, which needs more than one server:
	// it is in field, in the package of the store. "": a scenario tests it.
	failover scenarios.Verdict
}{
	{"Redis: the ladder", "", "", ""},
	{"Redis: a library", "libraries", "", ""},
	{"MariaDB", "mysql", "mysql/", scenarios.Breaks},
	{"ZooKeeper", "zookeeper", "zookeeper/", scenarios.Holds},
	{"etcd", "etcd", "", scenarios.Holds},
}

// Candidate is a lock, and what it cost.
type Candidate struct {
	Lock
	Store string
	Cost  *bench.Row // nil where it was not measured
}

// choose reads the measured run and what the locks of docs/results did.
func (g *Generator) choose() (err error) {
	if g.run, err = g.measured("choosing.json"); err != nil {
		return err
	}
	for _, store := range stores {
		locks := g.Rungs
		if store.results != "" {
			if locks, err = Kept(g.root, store.results); err != nil {
				return err
			}
		}
		for _, lock := range locks {
			c := Candidate{Lock: lock, Store: store.name}
			c.Name, c.Verdicts = store.prefix+lock.Name, maps.Clone(lock.Verdicts)
			if store.failover != "" {
				c.Verdicts["failover: two holders"] = store.failover
			}
			c.Cost = g.cost(c.Name)
			g.Candidates = append(g.Candidates, c)
		}
	}
	return nil
}

// cost is a row of the measured run; nil: there is none of this name.
func (g *Generator) cost(name string) *bench.Row {
	for i, row := range g.run.Rows {
		if row.Name() == name {
			return &g.run.Rows[i]
		}
	}
	return nil
}

// Fits says whether a lock holds all that a job needs. It doesn't hold an invariant
// of a feature that it doesn't offer, nor one that can't be tested on its servers.
func (c Candidate) Fits(job Job) bool {
	if job.Token && c.Verdicts[token] != scenarios.Holds || job.After > 0 && !c.Fits(Jobs[job.After-1]) {
		return false
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

// choices is the decision table: for each job and each store the measured locks that fit.
func (g *Generator) choices() string {
	head := []string{"the job"}
	for _, store := range stores {
		head = append(head, store.name)
	}
	var rows [][]string
	for i, job := range Jobs {
		row := []string{fmt.Sprintf("%d. %s", i+1, job.Name)}
		for _, store := range stores {
			var names []string
			for _, c := range g.Candidates {
				if c.Cost != nil && c.Store == store.name && c.Fits(job) {
					names = append(names, c.Name)
				}
			}
			row = append(row, cmp.Or(strings.Join(names, ", "), "none"))
		}
		rows = append(rows, row)
	}
	return Table(len(head), head, rows)
}

// costs is what each lock cost in the measured run, the fastest first, without those that
// keep nobody out.
func (g *Generator) costs() string {
	rows := slices.DeleteFunc(slices.Clone(g.run.Rows), func(row bench.Row) bool {
		return row.Ratio() == nil || row.Count("max_holders") > 1
	})
	slices.SortStableFunc(rows, func(a, b bench.Row) int {
		return cmp.Compare(*b.Ratio(), *a.Ratio())
	})
	return tableOf(1, []column[bench.Row]{
		{"lock", bench.Row.Name},
		{"times serial", decimal("ratio_to_serial", bench.Brief)},
		{"acquisitions/s", decimal("acquisitions_per_second", bench.Brief)},
		{"middle half", bench.Row.Range},
		{"wait p50 ms", decimal("wait_ms.p50", bench.Brief)},
		{"wait max ms", decimal("wait_ms.max", bench.Brief)},
		{"in order", decimal("in_order", 2)},
		{"left", decimal("left", 0)},
		{"retries", decimal("retries", 0)},
	}, rows)
}

// where names the machine of the measured run.
func (g *Generator) where() string {
	env, rows := g.run.Env, g.run.Rows
	rounds := func(a, b bench.Row) int { return cmp.Compare(len(a.Rounds), len(b.Rounds)) }
	return fmt.Sprintf("%d clients at one instant, %d to %d rounds of each row; Redis %s, %s %s/%s,"+
		" %s (%s), commit %s.\n", rows[0].Count("table_clients"),
		len(slices.MinFunc(rows, rounds).Rounds), len(slices.MaxFunc(rows, rounds).Rounds),
		*env.ServerVersion, env.Go, env.OS, env.Arch, bench.Plural(env.CPUs, "CPU"), *env.CPU, *env.Commit)
}
