package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// job is something that a lock is for, and what the lock must hold for it.
type job struct {
	name  string
	needs []string // scenarios, or scenario: invariant
	arise []string // scenario: invariant that must also arise, and then hold
}

// once is what every job needs: nobody locks the rest out for ever, and nobody
// frees what another one holds.
var once = []string{"mutual_exclusion", "crash_holding",
	"crash_after_first_command", "abandoned_acquire", "lost_reply: orphaned",
	"overrun_release", "slow_get", "slow_release", "late_own_release",
	"lost_release_reply", "unlock_not_held", "simultaneous_takeover"}

// outlasts is what work needs that may take longer than a lease.
var outlasts = append(slices.Clone(once), "overrun_overlap", "oversell",
	"late_grant")

// aToken arises only where a grant has a fencing token.
const aToken = "lost_reply: wrong token"

var jobs = []job{
	{name: "A second run is only waste: a cache is filled, a report is made",
		needs: once},
	{name: "A second run is only waste, and a worker that hangs must not stop" +
		" the rest", needs: append(slices.Clone(once), "hung_worker")},
	{name: "The work may take longer than the lease", needs: outlasts},
	{name: "It may take longer, and what locks calls what locks",
		needs: append(slices.Clone(outlasts), "nested: self-deadlock",
			"nested: foreign release", "lost_reply: self-deadlock")},
	{name: "It may take longer, and who is cut off must be told in time",
		needs: append(slices.Clone(outlasts), "partitioned_holder")},
	{name: "A process may be paused, and nothing stale may be written; the" +
		" storage can check a number",
		needs: append(slices.Clone(once), "paused_holder"),
		arise: []string{aToken}},
	{name: "A server may be replaced by a copy that lags",
		needs: append(slices.Clone(once), "failover: two holders")},
	{name: "A server may restart",
		needs: append(slices.Clone(once), "node_restart")},
}

// families are where a lock can live. A family's locks need the same servers.
var families = []string{"Redis: the ladder", "Redis: a library", "MariaDB",
	"ZooKeeper", "etcd"}

// candidate is a lock, its verdicts, and what it cost.
type candidate struct {
	name, family string
	verdicts     map[string]string // the matrices' signs by scenario: invariant
	cost         *benchmark.Row    // nil where it was not measured
}

const (
	breaks     = "**✗**"
	holds      = "✓"
	notArising = "·"
	notOffered = "–"
)

// elsewhere are the stories that are tests of their own in the other stores, for
// one server can't tell them, and the tests.
var elsewhere = []struct{ family, invariant, verdict, file, test string }{
	{"MariaDB", "failover: two holders", breaks,
		"mysql/cautions_test.go", "TestAReplicaMayNotKnowTheLock"},
	{"ZooKeeper", "failover: two holders", holds,
		"zookeeper/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
	{"etcd", "failover: two holders", holds,
		"etcd/quorum_test.go", "TestTheLockOutlivesTheLeaderThatGrantedIt"},
}

// table is the generated part of a document, without its ruler.
func table(t *testing.T, file, part string) [][]string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(content),
		"<!-- generated: "+part+" -->\n")
	require.True(t, found, "%s has a part %q", file, part)
	rest, _, _ = strings.Cut(rest, "<!-- end of")
	var rows [][]string
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	require.Greater(t, len(rows), 2, "%s: the part %q is a table", file, part)
	return slices.Delete(rows, 1, 2)
}

// candidates are the locks of the matrices and of the measured run.
func candidates(t *testing.T) []candidate {
	measured := chosenRun(t)
	var all []candidate
	for _, source := range []struct{ file, part, family, prefix string }{
		{"matrix.md", "matrix", families[0], ""},
		{"libraries.md", "matrix", families[1], ""},
		{"alternatives.md", "mysql", families[2], "mysql/"},
		{"alternatives.md", "zookeeper", families[3], "zookeeper/"},
		{"alternatives.md", "etcd", families[4], ""},
	} {
		rows := table(t, source.file, source.part)
		for column, name := range rows[0][2:] {
			c := candidate{family: source.family,
				name: source.prefix + name, verdicts: map[string]string{}}
			for _, row := range rows[1:] {
				c.verdicts[row[0]+": "+row[1]] = row[2+column]
			}
			for _, e := range elsewhere {
				if e.family == c.family {
					c.verdicts[e.invariant] = e.verdict
				}
			}
			for i, row := range measured.Rows {
				if row.Rung == c.name || source.family == families[0] &&
					path.Base(row.Rung) == name {
					c.name, c.cost = row.Rung, &measured.Rows[i]
				}
			}
			// The libraries' page repeats some rungs.
			known := slices.ContainsFunc(all, func(other candidate) bool {
				return path.Base(other.name) == path.Base(c.name)
			})
			if !known {
				all = append(all, c)
			}
		}
	}
	return all
}

// fit says whether a lock holds all that a job needs. What a lock does not
// offer, and what nobody could ask it, it does not hold.
func (c candidate) fit(j job) bool {
	for _, must := range j.arise {
		if c.verdicts[must] != holds {
			return false
		}
	}
	for _, need := range j.needs {
		answers := 0
		for invariant, verdict := range c.verdicts {
			if invariant != need && !strings.HasPrefix(invariant, need+":") {
				continue
			}
			answers++
			if verdict != holds && verdict != notArising {
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
func (c candidate) broken() int {
	count := 0
	for _, verdict := range c.verdicts {
		if verdict == breaks {
			count++
		}
	}
	return count
}

func (c candidate) ratio() float64 {
	if c.cost == nil || c.cost.RatioToSerial == nil {
		return 0
	}
	return *c.cost.RatioToSerial
}

// choices is the decision table: for each job and each family the fastest lock
// that holds what the job needs.
func choices(all []candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| the job | %s |\n|---|%s\n", strings.Join(families, " | "),
		strings.Repeat("---|", len(families)))
	for i, job := range jobs {
		fmt.Fprintf(&b, "| %d. %s |", i+1, job.name)
		for _, family := range families {
			var fastest *candidate
			fitting := 0
			for i, c := range all {
				if c.family == family && c.cost != nil && c.fit(job) {
					fitting++
					if fastest == nil || c.ratio() > fastest.ratio() {
						fastest = &all[i]
					}
				}
			}
			if fastest == nil {
				fmt.Fprint(&b, " none |")
				continue
			}
			fmt.Fprintf(&b, " %s, %.2f", fastest.name, fastest.ratio())
			if fitting > 1 {
				fmt.Fprintf(&b, "; %d others", fitting-1)
			}
			fmt.Fprint(&b, " |")
		}
		fmt.Fprintln(&b)
	}
	return strings.ReplaceAll(b.String(), "; 1 others", "; 1 other")
}

// required is what each job needs, in the scenarios' words.
func required() string {
	var b strings.Builder
	for i, job := range jobs {
		needs, all := job.needs, ""
		for j, earlier := range jobs[:i] {
			if rest, found := after(job.needs, earlier.needs); found {
				needs, all = rest, fmt.Sprintf("as in %d, and ", j+1)
			}
		}
		fmt.Fprintf(&b, "%d. %s: %s`%s`", i+1, job.name, all,
			strings.Join(needs, "`, `"))
		for _, must := range job.arise {
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

// costs is what each lock cost in the committed run, the fastest first.
func costs(all []candidate) string {
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case a.ratio() > b.ratio():
			return -1
		case a.ratio() < b.ratio():
			return 1
		}
		return 0
	})
	var b strings.Builder
	fmt.Fprint(&b, "| lock | lives in | breaks | times serial | ± % |"+
		" hand-overs/s | wait p50 ms | wait max ms | in order % |\n"+
		"|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		if c.cost == nil {
			continue
		}
		family, _, _ := strings.Cut(c.family, ":")
		if c.cost.Nodes > 1 {
			family += fmt.Sprintf(", %d servers", c.cost.Nodes)
		}
		r := c.cost
		fmt.Fprintf(&b, "| %s | %s | %d | %.3f | %s | %.0f | %.0f | %.0f | %.0f |\n",
			c.name, family, c.broken(), c.ratio(), spread(r),
			*r.HandoversPerSecond, r.Wait.P50, r.Wait.Max, 100**r.InOrder)
	}
	return b.String()
}

// lockless are the rows that sell without a lock and compare, or let the server do
// it in one step.
var lockless = []string{"lua-decrement", "watch-multi", "mysql/optimistic",
	"mysql/optimistic-timestamp"}

// without is what they did in the committed run, as far as it has them.
func without(run benchmark.Report) string {
	var b strings.Builder
	fmt.Fprint(&b, "| without a lock | times serial | sold | left | retries |\n"+
		"|---|--:|--:|--:|--:|\n")
	for _, name := range lockless {
		for _, r := range run.Rows {
			if r.Rung != name {
				continue
			}
			fmt.Fprintf(&b, "| %s | %.3f | %d | %s | %s |\n", name,
				candidate{cost: &r}.ratio(), r.Sold, count(r.Left),
				count(r.Retries))
		}
	}
	return b.String()
}

// count is a figure, if it was measured.
func count(n *int64) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

// spread is half of the range of the rounds' ratios around the median, in
// per cent of it.
func spread(r *benchmark.Row) string {
	var ratios []float64
	for _, round := range r.Rounds {
		if round.RatioToSerial != nil {
			ratios = append(ratios, *round.RatioToSerial)
		}
	}
	if len(ratios) < 2 || r.RatioToSerial == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f", 50*(slices.Max(ratios)-slices.Min(ratios)) /
		*r.RatioToSerial)
}

// chosenRun is the committed run.
func chosenRun(t *testing.T) benchmark.Report {
	t.Helper()
	content, err := os.ReadFile("choosing.json")
	require.NoError(t, err)
	var report benchmark.Report
	require.NoError(t, json.Unmarshal(content, &report))
	return report
}

// where names the machine of the committed run.
func where(env benchmark.Env, row benchmark.Row) string {
	return fmt.Sprintf("%d clients at one instant, %d rounds; Redis %s, %s %s/%s,"+
		" %d CPUs (%s), commit %s.\n", row.InTableOf, len(row.Rounds),
		*env.ServerVersion, env.Go, env.OS, env.Arch, env.CPUs, *env.CPU,
		*env.Commit)
}

func TestTheDecisionTableIsThatOfTheMatricesAndTheMeasuredRun(t *testing.T) {
	all := candidates(t)
	run := chosenRun(t)
	fresh(t, "choosing.md", func(part string) (string, error) {
		switch part {
		case "choices":
			return choices(all), nil
		case "needs":
			return required(), nil
		case "costs":
			return costs(all), nil
		case "without":
			return without(run), nil
		case "run":
			return where(run.Env, run.Rows[0]), nil
		}
		return "", errUnknown
	})
}

func TestTheCommittedRunHasEveryLockThatIsInAMatrix(t *testing.T) {
	for _, c := range candidates(t) {
		// The recipe of the survey is an exhibit.
		if c.name == "zookeeper/recipe" {
			continue
		}
		if assert.NotNil(t, c.cost, c.name) {
			assert.True(t, c.cost.Finished, c.name)
			assert.Equal(t, int64(1), *c.cost.MaxHolders, c.name)
			assert.Zero(t, c.cost.Oversold, c.name)
		}
	}
}

// What is measured and in no table is a baseline, or the page says why.
func TestEveryLockOfTheCommittedRunIsInTheTablesOrExplained(t *testing.T) {
	content, err := os.ReadFile("choosing.md")
	require.NoError(t, err)
	const explained = "One lock is measured and in no table here: `rueidislock`,"
	var missing []string
	for _, row := range chosenRun(t).Rows {
		if row.Kind != benchmark.Baseline &&
			!slices.ContainsFunc(candidates(t), func(c candidate) bool {
				return c.name == row.Rung
			}) {
			missing = append(missing, row.Rung)
		}
	}
	assert.Equal(t, []string{"rueidislock"}, missing)
	assert.Contains(t, string(content), explained)
}

func TestWhatAJobNeedsIsInTheMatrix(t *testing.T) {
	rows := table(t, "matrix.md", "matrix")
	for _, job := range jobs {
		for _, need := range slices.Concat(job.needs, job.arise) {
			assert.True(t, slices.ContainsFunc(rows, func(row []string) bool {
				return row[0] == need || row[0]+": "+row[1] == need
			}), "%s: %s", job.name, need)
		}
	}
}

func TestALockThatBreaksWhatAJobNeedsIsNotChosenForIt(t *testing.T) {
	lock := candidate{verdicts: map[string]string{
		"nested: self-deadlock": notOffered, "slow_get: foreign release": breaks,
		"failover: two holders": holds, "failover: stale write": breaks,
		"oversell: lost update": notArising}}
	for need, want := range map[string]bool{"failover: two holders": true,
		"oversell": true, "failover": false, "slow_get": false, "nested": false,
		"clock_jump": false} {
		assert.Equal(t, want, lock.fit(job{needs: []string{need}}), need)
	}
}

func TestWhatSellsWithoutALockIsShownWithItsRetries(t *testing.T) {
	run := benchmark.Report{Rows: []benchmark.Row{{Rung: "gold"},
		{Rung: "mysql/optimistic", RatioToSerial: new(0.25), Sold: 9,
			Left: new(int64(1)), Retries: new(int64(17))},
		{Rung: "lua-decrement", RatioToSerial: new(4.0), Sold: 10}}}
	_, rows, _ := strings.Cut(without(run), "--:|\n")
	assert.Equal(t, "| lua-decrement | 4.000 | 10 | – | – |\n"+
		"| mysql/optimistic | 0.250 | 9 | 1 | 17 |\n", rows)
}

func TestALockWithoutATokenIsNotChosenWhereTheStorageChecksIt(t *testing.T) {
	for verdict, want := range map[string]bool{holds: true, notArising: false,
		notOffered: false, breaks: false} {
		lock := candidate{verdicts: map[string]string{aToken: verdict}}
		assert.Equal(t, want, lock.fit(job{arise: []string{aToken}}), verdict)
	}
	assert.False(t, candidate{}.fit(job{arise: []string{aToken}}))

	var tokens []string
	for _, c := range candidates(t) {
		if c.fit(job{arise: []string{aToken}}) {
			tokens = append(tokens, c.name)
		}
	}
	assert.Equal(t, []string{"reentrant/fenced", "zookeeper/sequential", "etcd"},
		tokens)
}

// What one server can't show is shown by a test that exists.
func TestWhatOneServerCantTellIsATestElsewhere(t *testing.T) {
	for _, e := range elsewhere {
		content, err := os.ReadFile(filepath.Join("..", "alternatives",
			filepath.FromSlash(e.file)))
		require.NoError(t, err)
		assert.Regexp(t, regexp.MustCompile(`(?m)^func `+e.test+`\(`),
			string(content), e.file)
	}
}

// The page's words on how the stores are run are those of the code that runs them.
func TestThePageSaysHowTheStoresAreRun(t *testing.T) {
	content, err := os.ReadFile("choosing.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(content)), " ")
	for _, c := range []struct{ file, code, words string }{
		{"internal/servers/store.go", `"--innodb-flush-log-at-trx-commit=2"`,
			"`innodb-flush-log-at-trx-commit=2`"},
		{"internal/servers/store.go", `"--sync-binlog=0"`, "`sync-binlog=0`"},
		{"internal/servers/store.go", `forceSync=no\n`, "`forceSync=no`"},
		{"internal/servers/store.go", `"--unsafe-no-fsync"`,
			"`--unsafe-no-fsync`"},
		{"internal/servers/redis.go", `"--save", ""`, "(`--save \"\"`)"},
		{"scenarios/server.go", `n.Restart("restarts, with its data")`,
			"MariaDB, ZooKeeper and etcd restart with their data"},
		{"scenarios/server.go", `n.Restart("restarts without its data")`,
			"Redis restarts without its data"},
		{"alternatives/bench/stores.go", "askEvery = 20 * time.Millisecond",
			"mysql/record and mysql/lease: 20 ms each time"},
		{"alternatives/libraries/redislock.go",
			"redislock.LinearBackoff(lock.DefaultPoll)", "redislock: 100 ms"},
		{"lock/options.go", "DefaultPoll = 100 * time.Millisecond",
			"The ladder's locks: up to 100 ms"},
	} {
		code, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(c.file)))
		require.NoError(t, err)
		assert.Contains(t, string(code), c.code, c.file)
		assert.Contains(t, page, c.words)
	}
}
