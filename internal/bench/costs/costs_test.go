package costs_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
)

var whole = flag.Bool("whole", false, "measure 1000 and 10,000 clients too")

func TestMain(m *testing.M) { locktest.Main(m) }

func subjects() []bench.Subject {
	return inventory.Around(bench.Rungs()...)
}

func subject(t *testing.T, name string) bench.Subject {
	t.Helper()
	selected, err := bench.Select(subjects(), name)
	require.NoError(t, err)
	return selected[0]
}

// The sizes up to 100 clients are checked by every go test; 1000 and 10,000 take
// minutes and need -whole.
func TestTheCostsInTheDocumentAreThoseOfTheCode(t *testing.T) {
	locktest.Long(t, "it measures every lock with 100 clients")
	var runs [][]bench.Row
	for _, clients := range []int{1, 10, 100, 1000, 10_000} {
		if clients > 100 && !*whole {
			break
		}
		rows := run(t, clients, runs)
		runs = append(runs, rows)
		generated.Compare(t, "benchmark.md",
			fmt.Sprintf("costs of %d", clients), costTable(rows))
	}
	if len(runs) > 3 {
		generated.Compare(t, "benchmark.md", "growth", growthTable(runs))
	}
}

// run measures all subjects; with 10,000 clients those whose cost did not grow.
func run(t *testing.T, clients int, runs [][]bench.Row) []bench.Row {
	all := subjects()
	rows := make([]bench.Row, len(all))
	t.Run(fmt.Sprint(clients), func(t *testing.T) {
		for i, subject := range all {
			if clients > 1000 && !constant(runs[2][i], runs[3][i]) {
				continue
			}
			t.Run(subject.Name, func(t *testing.T) {
				if clients < 1000 { // larger worlds get in each other's way
					t.Parallel()
				}
				row := measureOver(t, subject, clients, 0, nil)
				require.True(t, row.Finished())
				require.Zero(t, row.Value("failures"), row.Value("first_failure"))
				rows[i] = row
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	var measured []bench.Row
	for _, row := range rows {
		if row.Name() != "" {
			measured = append(measured, row)
		}
	}
	return measured
}

func TestTheSameCodeGivesTheSameFigures(t *testing.T) {
	for _, name := range []string{"gold", "reentrant/notify", "redlock"} {
		assert.Equal(t, measure(t, name, 30, nil), measure(t, name, 30, nil))
	}
}

func TestARoundTripTakesAsLongAsItIsSaidTo(t *testing.T) {
	row := measure(t, "gold", 1, nil)
	assert.EqualValues(t, 4.0, row.Value("round_trips_per_section"))
	assert.InDelta(t, 4*rtt.Seconds(), *row.Number("seconds"), 1e-9)
	assert.Equal(t, rtt.Seconds()*1000, *row.Number("wait_ms.max"))
}

// A client that has had a turn queues up behind all others: in a closed loop everybody
// waits for as long, and has as many turns.
func TestInAClosedLoopACohortServesEverybodyAlike(t *testing.T) {
	locktest.Long(t, "it measures 100 clients for two seconds")
	row := measure(t, "reentrant/cohort", 100, func(r *inventory.Settings) {
		r.Loop, r.Stock, r.Rounds = time.Second, 1_000_000, 2
	})
	require.NotNil(t, row.Value("jain"))
	assert.GreaterOrEqual(t, *row.Number("jain"), 0.99)
	require.NotNil(t, row.Value("wait_ms.p50"))
	assert.LessOrEqual(t, *row.Number("wait_ms.max"), 2**row.Number("wait_ms.p50"))
	assert.EqualValues(t, 1.0, row.Value("serial_max_over_p50"), "virtual time is even")
	t.Logf("Jain %v, wait %+v", *row.Number("jain"), *row.Number("wait_ms.p50"))
}
