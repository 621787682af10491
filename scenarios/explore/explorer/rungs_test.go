package main

import (
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var all = flag.Bool("all", false, "walk every row of docs/explorer.md, not only"+
	" those that take no time")

// brief says that only what takes no time is walked: with -short, and under the
// race detector, which makes everything ten times as long.
func brief() bool { return testing.Short() || locktest.Race }

// Three clients break in the standard bounds what two break there, and nothing else.
func TestThreeClients(t *testing.T) {
	if !*all {
		t.Skip("go test ./scenarios/explore/explorer -run Three -timeout 1h -all")
	}
	var rows []row
	for _, name := range []string{"gold", "diamond", "platinum"} {
		r := row{rung: locktest.Find(t, name), family: "three clients", quick: true}
		r.bounds = standardBounds(r.rung)
		r.bounds.Clients = 3
		rows = append(rows, r)
	}
	table{part: "three", columns: "| rung | program |"}.walk(t, rows, nil)
}

func TestReadersAndWritersNeverHoldTheLockTogether(t *testing.T) {
	locktest.Long(t, "it walks every row of the table")
	t.Parallel()
	table{part: "readers", run: "Readers", columns: "| bounds | program |",
		judged: asking}.walk(t, readRows(t), never(explore.TwoHolders))
}

// readRows are the walks with readers. A write that is on its way when its writer's lease ends is
// accepted after a reader has read, because readers have no token that the storage could compare.
func readRows(t *testing.T) (rows []row) {
	for _, r := range []struct {
		quick           bool
		clients, faults int
		program         explore.Program
	}{
		{true, 2, 0, explore.Read},
		{true, 2, 0, explore.Downgrade},
		{false, 3, 0, explore.Read},
		{false, 2, 1, explore.Read},
		{false, 2, 1, explore.Downgrade},
	} {
		rung := locktest.Find(t, "reentrant/readwrite")
		b := rungBounds(rung)
		b.Clients, b.Expiries, b.Crashes = r.clients, r.faults, r.faults
		b.Programs = []explore.Program{r.program}
		rows = append(rows, row{rung: rung, bounds: b, quick: r.quick})
	}
	return rows
}

// No schedule within the bounds loses a wake-up.
func TestNoWakeUpIsLost(t *testing.T) {
	locktest.Long(t, "it walks every schedule of waiting locks")
	t.Parallel()
	table{part: "waits", run: "WakeUp", columns: "| rung | bounds |",
		judged: []explore.Invariant{explore.Orphaned, explore.ForeignRelease,
			explore.ForeignRenewal, explore.TwoHolders, explore.StaleWrite,
			explore.FalseSuccess, explore.LostWakeUp}}.walk(t, waitRows(t),
		never(explore.LostWakeUp))
}

// waitRows are the walks with Lock. Two clients are a holder and a waiter, by
// turns; two owners in client A share a subscription, and so a waiter that gives
// up may have been the only one to hear of a release.
func waitRows(t *testing.T) (rows []row) {
	for _, name := range []string{"reentrant/notify", "reentrant/fair", "reentrant/cohort"} {
		notify := name == "reentrant/notify"
		for i, b := range []explore.Bounds{
			{Clients: 2},
			{Clients: 2, Expiries: 1},
			{Clients: 2, Expiries: 1, LostMessages: 1},
			{Clients: 2, LostMessages: 1},
			{Clients: 2, LostReplies: 1},
			{Clients: 2, GiveUps: 1},
			{Clients: 1, Owners: 2},
			{Clients: 1, Owners: 2, GiveUps: 1},
		} {
			b.Attempts, b.Programs, b.States = 5, []explore.Program{explore.Wait}, 2e6
			if !notify {
				b.Turn = func(key string) string { return lock.SecondKey(key, "turn") }
			}
			rows = append(rows, row{rung: locktest.Find(t, name), bounds: b,
				quick: i == 0 || i == 3 && notify, slow: b.LostMessages > 0})
		}
	}
	return rows
}

// B holds the lock, A1 and A2 of one process wait. The release wakes A1 just before
// it gives up: it must wake A2.
const givesUp = "wait: B> B< A> A> A< A< A> A< A> B= B> A~ Ag A< B<"

func TestAWaiterThatGivesUpWakesTheNext(t *testing.T) {
	replayed := explore.Replay(t, locktest.Find(t, "reentrant/notify").Build,
		explore.Bounds{Owners: 2}, givesUp)
	assert.Regexp(t, "A1 +Lock returns context canceled", replayed.Timeline)
	for _, b := range replayed.Broken {
		t.Errorf("%s breaks: %s: %s", b.Invariant, b.Event, givesUp)
	}
}

// table is a table of the page that has a line for each row.
type table struct {
	part    string // its name
	run     string // what -run says to have it
	columns string // those before the invariants: rung, bounds and program
	omits   string // what the bounds of every row begin with
	judged  []explore.Invariant
}

// begins is what a row's line says in the columns before the invariants.
func (table table) begins(r row, report explore.Report) string {
	return strings.NewReplacer("rung", r.rung.Name,
		"bounds", strings.TrimPrefix(report.Bounds.String(), table.omits),
		"program", string(report.Walks[0].Program)).Replace(table.columns)
}

// walk walks every row to its end, looks at what was found, and compares the table
// with the page: a line for each row that was walked, or the whole, if all were. In
// that case it returns the findings of all rows.
func (table table) walk(t *testing.T, rows []row,
	look func(*testing.T, row, explore.Report)) []explore.Walk {
	t.Helper()
	lines, walks := make([]string, len(rows)), make([]explore.Walk, len(rows))
	t.Run("rungs", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.name(), func(t *testing.T) {
				if !row.quick && !*all {
					t.Skipf("go test ./scenarios/explore/explorer -run %s -all", table.run)
				}
				if brief() && row.slow {
					t.Skip("takes too long with -short or -race")
				}
				t.Parallel()
				start := time.Now()
				report := explore.Run(t, row.rung.Build, row.bounds)
				t.Logf("%v\n%s", time.Since(start), report)
				require.True(t, report.Exhausted())
				if look != nil {
					look(t, row, report)
				}
				walk := report.Walks[0]
				walks[i].Found = walk.Found // the rest of it is large
				lines[i] = fmt.Sprintf("%s%s %v | %d |\n", table.begins(row, report),
					cells(report, table.judged), walk.Schedules(), walk.States)
			})
		}
	})
	if t.Failed() {
		return nil
	}
	if !slices.Contains(lines, "") { // else some were skipped, or -run asks for others
		generated.Compare(t, document, table.part,
			heading(table.columns, table.judged)+strings.Join(lines, ""))
		return walks
	}
	for _, line := range lines {
		if line != "" {
			assert.Contains(t, generated.Text(t, document, table.part), line,
				"docs/explorer.md is stale: -update writes it")
		}
	}
	return nil
}

// never fails a row that breaks an invariant.
func never(invariant explore.Invariant) func(*testing.T, row, explore.Report) {
	return func(t *testing.T, _ row, report explore.Report) {
		_, found := report.Failure(invariant)
		assert.False(t, found, "%s", report)
	}
}

// An invariant that a row breaks is broken again when its schedule is replayed by
// itself, with nothing inferred and nothing remembered.
func TestEveryRungBreaksWhatTheTableSays(t *testing.T) {
	locktest.Long(t, "it walks every row of the table")
	t.Parallel()
	rows := rows()
	table := table{part: "rows", run: "Table", columns: "| rung | bounds | program |",
		omits: "2 clients, ", judged: asking}
	walks := table.walk(t, rows, func(t *testing.T, r row, report explore.Report) {
		for _, invariant := range explore.Invariants {
			f, found := report.Failure(invariant)
			if !found {
				continue
			}
			replayed := explore.Replay(t, r.rung.Build, r.bounds, f.Schedule)
			assert.True(t, slices.ContainsFunc(replayed.Broken, func(b explore.Breach) bool {
				return b.Invariant == invariant
			}), "%s is not broken by %s:\n%s", invariant, f.Schedule, replayed.Timeline)
		}
	})
	if walks != nil {
		generated.Compare(t, document, "verdicts", verdicts(rows, walks))
	}
}

// The table says what another name, one Unlock too many and an error reply break.
func TestMoreThanTheStandardPrograms(t *testing.T) {
	locktest.Long(t, "it walks every row of the table")
	t.Parallel()
	table{part: "more", run: "MoreThan", columns: "| rung | bounds | program |",
		omits: "2 clients, ", judged: asking}.walk(t, moreRows(), nil)
}

// verdicts is the table of rungs and invariants: the cheapest of all rows.
func verdicts(rows []row, walks []explore.Walk) string {
	var b strings.Builder
	fmt.Fprint(&b, "| rung |")
	for _, invariant := range asking {
		fmt.Fprintf(&b, " %s |", invariant)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat(":-:|", len(asking)))
	for _, rung := range ladder.Rungs {
		var whole explore.Report
		for i, row := range rows {
			if row.rung.Name == rung.Name {
				whole.Walks = append(whole.Walks, walks[i])
			}
		}
		fmt.Fprintf(&b, "| %s |%s\n", rung.Name, cells(whole, asking))
	}
	return b.String()
}

// heading is the head of a table that has a line for each row.
func heading(columns string, invariants []explore.Invariant) string {
	var b strings.Builder
	fmt.Fprint(&b, columns)
	for _, invariant := range invariants {
		fmt.Fprintf(&b, " %s |", invariant)
	}
	fmt.Fprintf(&b, " schedules | states |\n%s|%s--:|--:|\n",
		strings.Repeat("|---", strings.Count(columns, "|")-1),
		strings.Repeat(":-:|", len(invariants)))
	return b.String()
}

// cells are a report's verdicts, in the order of the invariants.
func cells(report explore.Report, invariants []explore.Invariant) string {
	var b strings.Builder
	for _, invariant := range invariants {
		if f, found := report.Failure(invariant); found {
			fmt.Fprintf(&b, " **%d+%d** |", f.Adversary, f.Steps)
		} else {
			fmt.Fprint(&b, " ✓ |")
		}
	}
	return b.String()
}

// A stress test runs schedules as they come. These are the shares of those that
// release a foreign lock, with two clients and one expiry.
func TestHowRarelyAScheduleReleasesAForeignLock(t *testing.T) {
	locktest.Long(t, "it walks three graphs")
	t.Parallel()
	var b strings.Builder
	fmt.Fprint(&b, "| rung | schedules | that release another's lock | share |"+
		" a random scheduler meets one in |\n|---|--:|--:|--:|--:|\n")
	for _, name := range []string{"gold", "platinum", "diamond"} {
		report := explore.Run(t, locktest.Find(t, name).Build, explore.Bounds{Expiries: 1,
			Programs: []explore.Program{explore.Once}})
		walk := report.Walks[0]
		all, failing := walk.Share(explore.ForeignRelease)
		share, _ := new(big.Rat).SetFrac(failing, all).Float64()
		chance := walk.Chance(explore.ForeignRelease)
		fmt.Fprintf(&b, "| %s | %v | %v | %.2f %% | %.2f %% of its runs |\n", name,
			all, failing, 100*share, 100*chance)
		if name == "platinum" {
			f := walk.Found[explore.ForeignRelease]
			generated.Compare(t, document, "report", generated.Fence("", report.String()))
			generated.Compare(t, document, "timeline", generated.Fence("", explore.Replay(t,
				locktest.Find(t, name).Build, explore.Bounds{}, f.Schedule).Timeline))
		}
	}
	generated.Compare(t, document, "share", b.String())
}

// The example on the page is the one that is tested.
func TestTheExampleOnThePageIsTheOneThatRuns(t *testing.T) {
	source, err := os.ReadFile("../own_lock_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "type myLock")
	require.True(t, found)
	generated.Compare(t, document, "own", generated.Fence("go", "type myLock"+code))
}

// document is the page whose generated parts are made here.
const document = "explorer.md"

func TestMain(m *testing.M) {
	locktest.CollectLess()
	flag.Parse()
	if !*all {
		locktest.OneProcessor() // long walks are taken at the same time
	}
	testscript.Main(m, map[string]func(){"explorer": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true})
}
