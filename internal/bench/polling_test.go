package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
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
		row := cost(t, subject(t, "gold"), 100, 0, func(r *bench.Settings) {
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
		row := cost(t, subject(t, "gold"), 100, 0, func(r *bench.Settings) {
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
		row := cost(t, subject(t, "gold"), 100, pool,
			func(r *bench.Settings) { r.Poll = 2 * time.Millisecond })
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
			row := cost(t, subject(t, name), 20, 0, func(r *bench.Settings) {
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

// process is a go-redis client that no other owner has, so that its owner shares
// nothing of what the owners of one process have in common.
type process struct{ redis.UniversalClient }

// apart is a subject whose owners live in a process each.
func apart(s bench.Subject) bench.Subject {
	build := s.Build
	s.Build = func(env lock.Env) (lock.Lock, error) {
		nodes := make([]redis.UniversalClient, len(env.Nodes))
		for i, rdb := range env.Nodes {
			nodes[i] = &process{rdb}
		}
		env.Nodes = nodes
		return build(env)
	}
	return s
}

// Cohort's figure in the tables comes from clients that share a process, which is
// what it is made for. Where each has a process of its own it is no faster than
// notify. docs/choosing.md has the table.
func TestACohortIsFastOnlyWhereWaitersShareAProcess(t *testing.T) {
	locktest.Long(t, "it measures 100 clients six times")
	speed := func(s bench.Subject, clients int) float64 {
		return *cost(t, s, clients, 0, nil).Number("acquisitions_per_second")
	}
	serial := speed(subject(t, "serial-limit"), 1)
	ratios := map[string][2]float64{}
	var rows [][]string
	for _, name := range []string{"diamond", "reentrant/notify", "reentrant/cohort"} {
		s := subject(t, name)
		r := [2]float64{speed(s, 100) / serial, speed(apart(s), 100) / serial}
		ratios[name] = r
		rows = append(rows, []string{name, fmt.Sprintf("%.2f", r[0]),
			fmt.Sprintf("%.2f", r[1])})
	}
	cohort, notify := ratios["reentrant/cohort"], ratios["reentrant/notify"]
	assert.Greater(t, cohort[0], 1.5*notify[0])
	assert.Less(t, cohort[1], 1.1*notify[1])
	generated.Compare(t, "choosing.md", "processes", generated.Table(1, []string{"lock",
		"all in one process", "each in a process of its own"}, rows))
}
