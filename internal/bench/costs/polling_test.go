package costs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// These tests measure what docs/polling.md says about waiting.

// lesson is a table of one part of the page.
type lesson struct{ strings.Builder }

func newLesson(t *testing.T, heads ...string) *lesson {
	locktest.Long(t, "it measures 100 clients for a table of the page")
	l := &lesson{}
	l.line(heads...)
	l.line(append([]string{"---"}, strings.Split(
		strings.Repeat("--: ", len(heads)-1), " ")[:len(heads)-1]...)...)
	return l
}

func (l *lesson) line(cells ...string) {
	l.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// fresh shows the lesson to who runs it with -v, and holds the page against it.
func (l *lesson) fresh(t *testing.T, part string) {
	t.Helper()
	t.Log("\n" + l.String())
	generated.Compare(t, "polling.md", part, l.String())
}

func perSecond(row bench.Row) string {
	return row.Show("acquisitions_per_second", 0)
}

func wait(row bench.Row, which string) string { return row.Show("wait_ms."+which, 1) }

func TestAShorterPauseCostsCommandsAndALongerOneTime(t *testing.T) {
	l := newLesson(t, "longest pause", "acquisitions/s", "commands a section",
		"wait p50, ms", "wait max, ms")
	var rows []bench.Row
	for _, pause := range []time.Duration{1, 2, 5, 10, 20, 50, 100, 200, 500,
		1000} {
		row := measure(t, "gold", 100, func(r *inventory.Settings) {
			r.Poll = pause * time.Millisecond
		})
		rows = append(rows, row)
		l.line((pause * time.Millisecond).String(), perSecond(row),
			row.Show("commands_per_section", 1), wait(row, "p50"),
			wait(row, "max"))
	}
	first, last := rows[0], rows[len(rows)-1]
	assert.Greater(t, *first.Number("commands_per_section"), 5**last.Number("commands_per_section"))
	assert.Greater(t, *first.Number("acquisitions_per_second"), 5**last.Number("acquisitions_per_second"))
	l.fresh(t, "curve")
}

func TestFixedPausesAfterASimultaneousStartStayInLockstep(t *testing.T) {
	l := newLesson(t, "pauses of at most 100 ms", "acquisitions/s",
		"commands a section", "wait p50, ms", "wait max, ms")
	var speed []float64
	for _, fixed := range []bool{false, true} {
		row := measure(t, "gold", 100, func(r *inventory.Settings) {
			r.FixedPoll = fixed
		})
		l.line(map[bool]string{false: "with full jitter", true: "fixed"}[fixed],
			perSecond(row), row.Show("commands_per_section", 1),
			wait(row, "p50"), wait(row, "max"))
		speed = append(speed, *row.Number("acquisitions_per_second"))
	}
	assert.Greater(t, speed[0], 5*speed[1])
	l.fresh(t, "lockstep")
}

func TestWithTooFewConnectionsTheHolderQueuesBehindItsWaiters(t *testing.T) {
	l := newLesson(t, "connections", "acquisitions/s", "wait p50, ms",
		"wait max, ms")
	var speed []float64
	for _, pool := range []int{108, 20, 10} {
		row := measureOver(t, subject(t, "gold"), 100, pool,
			func(r *inventory.Settings) { r.Poll = 2 * time.Millisecond })
		require.Zero(t, row.Value("failures"), row.Value("first_failure"))
		l.line(fmt.Sprint(pool), perSecond(row), wait(row, "p50"),
			wait(row, "max"))
		speed = append(speed, *row.Number("acquisitions_per_second"))
	}
	assert.Greater(t, speed[0], 1.3*speed[1])
	assert.Greater(t, speed[0], 3*speed[2])
	l.fresh(t, "pool")
}

func TestInAClosedLoopTheReleaserIsServedAgainAndTheMedianLooksFine(
	t *testing.T) {
	l := newLesson(t, "row", "turns", "acquisitions/s", "wait p50, ms",
		"wait max, ms", "jain", "in order, %")
	for _, name := range []string{"gold", "reentrant/notify"} {
		for _, loop := range []time.Duration{0, time.Second} {
			row := measure(t, name, 20, func(r *inventory.Settings) {
				r.Loop, r.Stock = loop, 1_000_000
			})
			turns := "one each"
			if loop > 0 {
				turns = "for 1 s"
			}
			l.line(name, turns, perSecond(row), wait(row, "p50"),
				wait(row, "max"), row.Show("jain", 3),
				fmt.Sprintf("%.0f", 100**row.Number("in_order")))
			if name == "gold" && loop > 0 {
				assert.Less(t, *row.Number("wait_ms.p50"), 1.0, "one round trip: nobody else")
				assert.Less(t, *row.Number("jain"), 0.95)
			}
		}
	}
	l.fresh(t, "loop")
}
