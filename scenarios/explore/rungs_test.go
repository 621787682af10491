package explore_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var (
	all = flag.Bool("all", false, "walk every row of docs/explorer.md, not only"+
		" those that take no time")
	standard = flag.Bool("standard", false, "walk every rung with one expiry and"+
		" one crash, and print how long all of them take together")
	three    = flag.Bool("three", false, "walk with three clients: minutes")
	rungName = flag.String("rung", "gold", "the rung that Replay asks")
	schedule = flag.String("schedule", "", "the schedule that Replay takes")
	why      = flag.String("why", "", "print the cheapest failing schedules of a"+
		" rung")
	graphs = flag.String("graph", "", "write the state graphs of all rungs to"+
		" this directory")
)

// row is a walk of a rung with one program, a line of a table.
type row struct {
	rung   ladder.Rung
	family string // which bounds; "": as they are written
	bounds explore.Bounds
	quick  bool // it is walked in every test run
	slow   bool // but not with -short and -race
	breaks []explore.Invariant
}

// name is the row's name as a subtest.
func (r row) name() string {
	return fmt.Sprintf("%s/%s/%s", r.rung.Name, cmp.Or(r.family, r.bounds.String()),
		r.bounds.Programs[0])
}

// rungBounds is what the explorer must know of a rung.
func rungBounds(rung ladder.Rung) explore.Bounds {
	b := explore.Bounds{Clients: 2, Nodes: 1}
	switch rung.Name {
	case "silver/timestamp":
		b.LeaseInValue = laddertest.Deadline
	case "redlock":
		b.Nodes = 3
	case "reentrant/readwrite":
		b.Readers = laddertest.Readers
	}
	return b
}

// standardBounds are those of a rung in which all rungs are compared.
func standardBounds(rung ladder.Rung) explore.Bounds {
	b := rungBounds(rung)
	b.Expiries, b.Crashes, b.Programs = 1, 1, []explore.Program{explore.Once}
	if rung.Nodes > 1 {
		b.Attempts = 1 // as in the table
	}
	return b
}

// rows are all walks, with two clients and one expiry. The standard ones have one
// crash, and the pause of a process where the lock tells its holder of a loss. A
// lock that renews gives up what takes longer than a lease: so there are stray
// commands. Redlock's clients ask again and again while others do, so they ask
// twice without a crash and once with one.
func rows() []row {
	var rows []row
	for _, rung := range ladder.Rungs {
		add := func(family string, quick bool, set func(b *explore.Bounds),
			programs ...explore.Program) {
			for _, program := range programs {
				b := rungBounds(rung)
				b.Expiries = 1
				b.Programs = []explore.Program{program}
				set(&b)
				rows = append(rows, row{rung: rung, family: family, bounds: b,
					quick: quick, slow: rung.Name != "bronze" && rung.Name != "gold"})
			}
		}
		if rung.Name == "redlock" {
			add("standard", false, func(b *explore.Bounds) {
				b.Attempts = 2
			}, explore.Once)
			add("a crash", false, func(b *explore.Bounds) {
				b.Crashes, b.Attempts = 1, 1
			}, explore.Once)
			add("one attempt", false, func(b *explore.Bounds) {
				b.Attempts = 1
			}, explore.Nested, explore.Twice)
			continue
		}
		crash := func(b *explore.Bounds) { b.Crashes = 1 }
		// The re-entrant rungs have much in common, so they aren't walked every
		// time. The explorer's clients have one owner each, so a cohort has one.
		alike := strings.HasPrefix(rung.Name, "reentrant")
		add("standard", !alike, func(b *explore.Bounds) {
			crash(b)
			if rung.Renews {
				b.Pauses = 1
			}
		}, explore.Once)
		add("standard", false, crash, explore.Twice, explore.Nested)
		lost := []explore.Program{explore.Once}
		if alike { // an inner call whose reply is lost must not count twice
			lost = append(lost, explore.Nested)
		}
		add("lost replies", false, func(b *explore.Bounds) {
			b.LostReplies = 1
		}, lost...)
		if rung.Renews {
			add("strays", false, func(b *explore.Bounds) {
				b.Crashes, b.Strays = 1, 1
			}, explore.Once)
			add("timers", false, func(b *explore.Bounds) {
				b.Timers, b.Strays = 1, 1
			}, explore.Once)
		}
	}
	return rows
}

// Exploring makes much garbage that lives for one run, and a graph that lives for
// the whole walk: with the usual setting half of the time is spent on looking at
// the graph.
func TestMain(m *testing.M) {
	laddertest.CollectLess()
	flag.Parse()
	if !*all && !*three && !*standard && !explore.Sound() {
		laddertest.OneProcessor() // long walks are taken at the same time
	}
	// A user who sets one of these flags wants to read nothing else.
	asked := map[string]string{"^TestWhy$": *why, "^TestReplay$": *schedule,
		"^TestGraph$": *graphs}
	for test, value := range asked {
		if run := flag.Lookup("test.run"); value != "" && run.Value.String() == "" {
			run.Value.Set(test)
		}
	}
	m.Run()
}

func TestTheStandardBoundsOfAllRungs(t *testing.T) {
	if !*standard {
		t.Skip("go test ./scenarios/explore -run Standard -standard -v")
	}
	start := time.Now()
	t.Run("rungs", func(t *testing.T) {
		for _, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				report := explore.Run(t, rung.Build, standardBounds(rung))
				fmt.Fprintf(t.Output(), "%s", report)
				assert.True(t, report.Exhausted())
			})
		}
	})
	fmt.Fprintf(t.Output(), "%d rungs in %v\n", len(ladder.Rungs), time.Since(start))
}

func TestThreeClients(t *testing.T) {
	if !*three {
		t.Skip("go test ./scenarios/explore -run Three -timeout 1h -three -v")
	}
	var rows []row
	add := func(name string, program explore.Program) {
		r := row{rung: laddertest.Find(t, name), family: "three clients", quick: true}
		r.bounds = rungBounds(r.rung)
		r.bounds.Clients, r.bounds.Expiries, r.bounds.Crashes = 3, 1, 1
		r.bounds.Programs = []explore.Program{program}
		// A third client breaks nothing that two can't. Nobody is paused here, so a
		// lock that tells its holder has no two holders. A reader has no token for
		// the storage to compare.
		for _, invariant := range expected(t, r.rung) {
			if !r.rung.Renews || invariant != explore.TwoHolders {
				r.breaks = append(r.breaks, invariant)
			}
		}
		if program == explore.Read {
			r.breaks = []explore.Invariant{explore.StaleWrite}
		}
		rows = append(rows, r)
	}
	for _, name := range []string{"gold", "diamond", "platinum", "reentrant",
		"reentrant/fair", "reentrant/readwrite"} {
		add(name, explore.Once)
	}
	add("reentrant/readwrite", explore.Read)
	table := table{part: "three", columns: "| rung | program |"}
	table.walk(t, rows, breaksWhatItsRowSays)
}

// once is what the standard row of a rung breaks with the program that locks once; a
// rung that is not named breaks what its parent does. Nobody has told the explorer.
var once = map[string][]explore.Invariant{
	"bronze": {explore.Orphaned},
	"silver": {explore.Orphaned, explore.ForeignRelease, explore.TwoHolders,
		explore.LostUpdate, explore.StaleWrite, explore.FalseSuccess},
	"silver/timestamp": {explore.ForeignRelease, explore.TwoHolders,
		explore.LostUpdate, explore.SelfDeadlock, explore.StaleWrite,
		explore.FalseSuccess},
	"gold": {explore.ForeignRelease, explore.TwoHolders, explore.LostUpdate,
		explore.StaleWrite, explore.FalseSuccess},
	"diamond": {explore.TwoHolders, explore.LostUpdate, explore.StaleWrite,
		explore.FalseSuccess},
	"diamond/watchdog": {explore.TwoHolders, explore.LostUpdate,
		explore.StaleWrite},
	"reentrant/fenced": {explore.TwoHolders},
	"redlock": {explore.TwoHolders, explore.LostUpdate, explore.SelfDeadlock,
		explore.StaleWrite},
	"reentrant/readwrite": {explore.TwoHolders},
}

// expected is what a rung breaks.
func expected(t *testing.T, rung ladder.Rung) []explore.Invariant {
	t.Helper()
	for rung.Name != "" {
		if broken, ok := once[rung.Name]; ok {
			return broken
		}
		rung, _ = ladder.Find(rung.Parent)
	}
	t.Fatal("the explorer has been told nothing of this rung")
	return nil
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
					t.Skipf("go test ./scenarios/explore -run %s -all", table.run)
				}
				if explore.Brief() && row.slow {
					t.Skip("takes too long with -short or -race")
				}
				if row.bounds.Clients < 3 { // more walk in several worlds each
					t.Parallel()
				}
				start := time.Now()
				report := explore.Run(t, row.rung.Build, row.bounds)
				t.Logf("%v\n%s", time.Since(start), report)
				require.True(t, report.Exhausted())
				look(t, row, report)
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
			maker, _ := generated.Find(document, table.part)
			assert.Contains(t, generated.Text(t, document, table.part), line,
				"docs/explorer.md is stale, run go run ./docs -generate "+maker.Name)
		}
	}
	return nil
}

// breaksWhatItsRowSays looks for the invariants of a row, and for no others.
func breaksWhatItsRowSays(t *testing.T, r row, report explore.Report) {
	for _, invariant := range explore.Invariants {
		_, found := report.Failure(invariant)
		assert.Equal(t, slices.Contains(r.breaks, invariant), found, invariant)
	}
}

// An invariant that a row breaks is broken again when its schedule is replayed by
// itself, with nothing inferred and nothing remembered.
func TestEveryRungBreaksWhatTheTableSays(t *testing.T) {
	laddertest.Long(t, "it walks every row of the table")
	t.Parallel()
	rows := rows()
	table := table{part: "rows", run: "Table", columns: "| rung | bounds | program |",
		omits: "2 clients, ", judged: asking}
	walks := table.walk(t, rows, func(t *testing.T, r row, report explore.Report) {
		var broken []explore.Invariant
		for _, invariant := range explore.Invariants {
			f, found := report.Failure(invariant)
			if !found {
				continue
			}
			broken = append(broken, invariant)
			replayed := explore.Replay(t, r.rung.Build, r.bounds, f.Schedule)
			assert.True(t, breaks(replayed, invariant), "%s is not broken by %s:\n%s",
				invariant, f.Schedule, replayed.Timeline)
		}
		if r.family == "standard" && r.bounds.Programs[0] == explore.Once {
			assert.Equal(t, expected(t, r.rung), broken)
		}
	})
	if walks != nil {
		generated.Compare(t, document, "verdicts", verdicts(rows, walks))
	}
}

// breaks says whether a schedule has broken an invariant.
func breaks(replayed explore.Replayed, invariant explore.Invariant) bool {
	return slices.ContainsFunc(replayed.Broken, func(b explore.Breach) bool {
		return b.Invariant == invariant
	})
}

// asking are the invariants that programs with TryLock can break.
var asking = slices.DeleteFunc(slices.Clone(explore.Invariants),
	func(i explore.Invariant) bool { return i == explore.LostWakeUp })

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
	laddertest.Long(t, "it walks three graphs")
	t.Parallel()
	var b strings.Builder
	fmt.Fprint(&b, "| rung | schedules | that release a foreign lock | share |"+
		" a random scheduler meets one in |\n|---|--:|--:|--:|--:|\n")
	for _, name := range []string{"gold", "platinum", "diamond"} {
		report := explore.Run(t, laddertest.Find(t, name).Build, explore.Bounds{Expiries: 1,
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
				laddertest.Find(t, name).Build, explore.Bounds{}, f.Schedule).Timeline))
		}
	}
	generated.Compare(t, document, "share", b.String())
}

func TestReplay(t *testing.T) {
	if *schedule == "" {
		t.Skip("which one? go test ./scenarios/explore -run Replay -rung gold" +
			" -schedule 'once: A> A< E B> B<' -v")
	}
	r := laddertest.Find(t, *rungName)
	replayed := explore.Replay(t, r.Build, rungBounds(r), *schedule)
	fmt.Fprintf(t.Output(), "%s\n", replayed.Timeline)
	if len(replayed.Broken) == 0 {
		fmt.Fprintln(t.Output(), "nothing is broken")
	}
}

func TestWhy(t *testing.T) {
	if *why == "" {
		t.Skip("which rung? go test ./scenarios/explore -run Why -why gold -v")
	}
	r, out := laddertest.Find(t, *why), t.Output()
	fmt.Fprintf(out, "%s, every schedule of\n", r.Name)
	var whole explore.Report
	for _, row := range rows() {
		if row.rung.Name != r.Name || row.family == "timers" {
			continue
		}
		report := explore.Run(t, r.Build, row.bounds)
		require.True(t, report.Exhausted())
		walk := report.Walks[0]
		fmt.Fprintf(out, "  %s, the program %s: %v schedules in %d states\n",
			report.Bounds, walk.Program, walk.Schedules(), walk.States)
		whole.Walks = append(whole.Walks, report.Walks...)
	}
	for _, invariant := range asking {
		f, found := whole.Failure(invariant)
		if !found {
			fmt.Fprintf(out, "\n%s: none of them breaks it\n", invariant)
			continue
		}
		replayed := explore.Replay(t, r.Build, rungBounds(r), f.Schedule)
		fmt.Fprintf(out, "\n%s: %s\n\n%s", invariant, f.Schedule,
			replayed.Timeline)
	}
}

// writable makes a directory if there is none. Its error is told before the walks.
func writable(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("-graph %s: a test runs in the directory of its package;"+
			" write an absolute path, such as \"$PWD/%[1]s\"", dir)
	}
	if err := recording.Writable(dir); err != nil {
		return fmt.Errorf("-graph: %w", err)
	}
	return nil
}

func TestADirectoryThatCantBeWrittenIsRefusedInOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{file, filepath.Join(file, "below"), "graphs"} {
		err := writable(dir)
		require.ErrorContains(t, err, "-graph")
		assert.NotContains(t, err.Error(), "\n")
	}
	require.NoError(t, writable(filepath.Join(t.TempDir(), "new", "newer")))
}

// document is the page whose generated parts are made here.
const document = "explorer.md"
