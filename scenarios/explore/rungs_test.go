package explore_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var (
	all = flag.Bool("all", false, "walk every row of docs/explorer.md, not only"+
		" those that take no time")
	three        = flag.Bool("three", false, "walk with three clients: minutes")
	threeCrashes = flag.Int("threecrashes", 1, "")
	rungName     = flag.String("rung", "gold", "the rung that Replay asks")
	schedule     = flag.String("schedule", "", "the schedule that Replay takes")
)

// row is a walk of a rung with one program, a line of the table.
type row struct {
	rung   ladder.Rung
	family string // "standard", "lost replies" or "timers"
	bounds explore.Bounds
	quick  bool // it is walked in every test run
}

// name is the row's name as a subtest.
func (r row) name() string {
	return fmt.Sprintf("%s/%s/%s", r.rung.Name, r.family, r.bounds.Programs[0])
}

// rungBounds is what the explorer must know of a rung.
func rungBounds(rung ladder.Rung) explore.Bounds {
	b := explore.Bounds{Clients: 2, Nodes: 1}
	switch rung.Name {
	case "silver/timestamp":
		b.LeaseInValue = deadline
	case "redlock":
		b.Nodes = 3
	}
	return b
}

// rows are all walks: for each rung two clients, one expiry and one crash with
// each program, and the pause of a process where the lock tells its holder of a
// loss. Redlock tries again and again while others do, so its clients ask twice
// without a crash, and once with one.
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
				rows = append(rows, row{rung, family, b, quick})
			}
		}
		if rung.Name == "redlock" {
			add("standard", false, func(b *explore.Bounds) {
				b.Attempts = 2
			}, explore.Once)
			add("a crash", true, func(b *explore.Bounds) {
				b.Crashes, b.Attempts = 1, 1
			}, explore.Once)
			add("one attempt", false, func(b *explore.Bounds) {
				b.Attempts = 1
			}, explore.Twice, explore.Nested)
			continue
		}
		standard := func(b *explore.Bounds) {
			b.Crashes = 1
			if rung.Renews {
				b.Pauses = 1
			}
		}
		add("standard", true, standard, explore.Once)
		add("standard", false, standard, explore.Twice, explore.Nested)
		add("lost replies", false, func(b *explore.Bounds) {
			b.LostReplies = 1
		}, explore.Once)
		if rung.Renews {
			add("timers", false, func(b *explore.Bounds) {
				b.Timers, b.Strays = 1, 1
			}, explore.Once)
		}
	}
	return rows
}

// deadline reads the value of a timestamp lock.
func deadline(value string) (time.Time, bool) {
	ms, err := strconv.ParseInt(value, 10, 64)
	return time.UnixMilli(ms), err == nil
}

// Exploring makes much garbage that lives for one run, and a graph that lives for
// the whole walk: with the usual setting half of the time is spent on looking at
// the graph.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

func TestThreeClients(t *testing.T) {
	if !*three {
		t.Skip("go test ./scenarios/explore -run Three -three -v")
	}
	for _, name := range []string{"gold", "diamond", "platinum", "reentrant"} {
		t.Run(name, func(t *testing.T) {
			rung, err := ladder.Find(name)
			require.NoError(t, err)
			start := time.Now()
			bounds := explore.Bounds{Clients: 3, Expiries: 1, Crashes: *threeCrashes,
				Programs: []explore.Program{explore.Once}}
			t.Logf("\n%s%v", explore.Run(t, rung.Build, bounds), time.Since(start))
		})
	}
}

func TestEveryRungBreaksWhatTheTableSays(t *testing.T) {
	reports := map[string]explore.Report{}
	var mu sync.Mutex
	t.Run("rungs", func(t *testing.T) {
		for _, row := range rows() {
			if !row.quick && !*all {
				continue
			}
			t.Run(row.name(), func(t *testing.T) {
				t.Parallel()
				report := explore.Run(t, row.rung.Build, row.bounds)
				t.Log("\n" + report.String())
				require.True(t, report.Exhausted())
				mu.Lock()
				defer mu.Unlock()
				reports[row.name()] = report
			})
		}
	})
	fmt.Println(len(reports))
}

func TestReplay(t *testing.T) {
	if *schedule == "" {
		t.Skip("which schedule? go test ./scenarios/explore -run Replay" +
			" -rung gold -schedule 'once: A> A< E B> B<' -v")
	}
	rung, err := ladder.Find(*rungName)
	require.NoError(t, err)
	replayed := explore.Replay(t, rung.Build, rungBounds(rung), *schedule)
	t.Log("\n" + replayed.Timeline)
}
