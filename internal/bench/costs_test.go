package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

// These tests measure subjects in virtual time: the costs of a lock, apart from any machine.
// The servers are those of the scenarios' laboratory and answer at once; only the network takes
// time. The same code gives the same figures on every machine, to the digit.

// rtt is the round-trip time of the network, half of it in either direction.
const rtt = 500 * time.Microsecond

// startsApart is the time between the starts of two clients. No multiple of it, for up to 249,999
// clients, is a multiple of half a round trip: a client that starts would meet the messages of
// those that are under way at the same instant, and the scheduler would decide which goes first.
const startsApart = 1001 * time.Nanosecond

// cost lets the clients of one process take turns at a stock, in virtual time. They share so
// many connections; 0 is one for each. settings changes what is measured; nil changes nothing.
func cost(t *testing.T, subject bench.Subject, clients, pool int, settings func(*bench.Settings)) (row bench.Row) {
	t.Helper()
	if pool > 0 {
		// A client that waits for a connection takes a timer from a pool that the driver
		// has for the whole program, and one of another world is of no use in
		// this. Two collections empty it.
		runtime.GC()
		runtime.GC()
	}
	count := max(subject.Nodes, 1)
	var calls atomic.Int64
	err := lab.Run(t, lab.Config{
		Nodes: count,
		Key:   "lock",
		TTL:   bench.DefaultTTL,
		Seen: func(_ int, _ *server.Peer, command string, _ []string) {
			if command != "HELLO" {
				calls.Add(1)
			}
		},
	}, func(w *lab.World) {
		process := w.Client("process")
		servers := bench.Virtual(count, bench.Config{Clients: clients, Pool: pool, RTT: rtt},
			func(node int) (net.Conn, error) { return process.Dial(w.Node(node)) }, calls.Load)
		defer servers.Close(context.Background())
		r := runner(servers, clients, clients) // so that no section is shorter than another
		r.TTL, r.Poll = bench.DefaultTTL, lock.DefaultPoll
		r.Apart, r.Seed = startsApart, 1
		if settings != nil {
			settings(&r.Settings)
		}
		process.Go(func() {
			var err error
			if row, err = r.Measure(context.Background(), subject); err != nil {
				w.Fail("measure: %w", err)
			}
		})
		w.Play()
	})
	require.NoError(t, err)
	require.Zero(t, row.Value("failures"), row.Value("first_failure"))
	return row
}

var whole = flag.Bool("whole", false, "measure the costs of 1000 and 10,000 clients too")

// The sizes up to 100 clients are checked by every go test; 1000 and 10,000 take
// minutes and need -whole.
func TestTheCostsInTheDocumentAreThoseOfTheCode(t *testing.T) {
	locktest.Long(t, "it measures every lock with 100 clients")
	var runs [][]bench.Row
	for _, clients := range []int{1, 10, 100, 1000, 10_000} {
		if clients > 100 && !*whole {
			break
		}
		rows := costs(t, clients, runs)
		runs = append(runs, rows)
		generated.Compare(t, "benchmark.md", fmt.Sprintf("costs of %d", clients), costTable(rows))
	}
	if len(runs) > 3 {
		generated.Compare(t, "benchmark.md", "growth", growthTable(runs))
	}
}

// costs measures all subjects; with 10,000 clients those whose cost did not grow.
func costs(t *testing.T, clients int, runs [][]bench.Row) []bench.Row {
	all := bench.Around(bench.Rungs()...)
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
				rows[i] = cost(t, subject, clients, 0, nil)
				require.True(t, rows[i].Finished())
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return slices.DeleteFunc(rows, func(r bench.Row) bool { return r.Count("clients") == 0 })
}

// A client that has had a turn queues up behind all others: in a closed loop everybody
// waits for as long, and has as many turns.
func TestInAClosedLoopACohortServesEverybodyAlike(t *testing.T) {
	locktest.Long(t, "it measures 100 clients for a second")
	row := cost(t, subject(t, "reentrant/cohort"), 100, 0, func(s *bench.Settings) {
		s.Loop, s.Stock = time.Second, 1_000_000
	})
	assert.GreaterOrEqual(t, *row.Number("jain"), 0.99)
	assert.LessOrEqual(t, *row.Number("wait_ms.max"), 2**row.Number("wait_ms.p50"))
}

// costTable is a Markdown table of what was measured with one number of clients.
func costTable(rows []bench.Row) string {
	var lines [][]string
	for _, row := range rows {
		digits := []int{3, 3, 3, 3, 4, 3, 1}
		if row.Count("turns") > 1000 {
			// Of so many clients, some act at the same instant, and the Go
			// scheduler decides which goes first: in fair the last but one digit
			// of these figures differs from one run to the next.
			digits = []int{1, 1, 1, 1, 2, 3, 1}
		}
		line := []string{row.Name()}
		for i, figure := range costFigures {
			line = append(line, bench.Decimal(figure.of(row), digits[i]))
		}
		lines = append(lines, line)
	}
	return generated.Table(1, costHead(), lines)
}

func costHead() []string {
	head := []string{"row"}
	for _, figure := range costFigures {
		head = append(head, figure.head)
	}
	return head
}

// costFigures are the columns of that table, and of the one of how they grow.
var costFigures = []struct {
	head string
	of   func(bench.Row) *float64
}{
	{"commands", number("commands_per_section")},
	{"round trips", number("round_trips_per_section")},
	{"calls", number("calls_per_section")},
	// Clients woken by each release: how often a refused client asked again.
	{"woken", perSection("retries", 1)},
	{"makespan, s", number("seconds")},
	{"ms a section", perSection("seconds", 1000)},
	{"in order, %", func(r bench.Row) *float64 {
		if share := r.Number("in_order"); share != nil {
			return new(100 * *share)
		}
		return nil
	}},
}

func number(figure string) func(bench.Row) *float64 {
	return func(r bench.Row) *float64 { return r.Number(figure) }
}

func perSection(figure string, unit float64) func(bench.Row) *float64 {
	return func(r bench.Row) *float64 {
		x := r.Number(figure)
		if x == nil || r.Count("sections") == 0 {
			return nil
		}
		return new(unit * *x / float64(r.Count("sections")))
	}
}

// growthTable is a Markdown table that names how the figures of each row grow with
// the number of clients. The rows of a run are those of one number of clients,
// in the same order, and later runs may have fewer.
func growthTable(runs [][]bench.Row) string {
	var lines [][]string
	for _, first := range runs[0] {
		var rows []bench.Row
		for _, run := range runs {
			for _, row := range run {
				if row.Name() == first.Name() {
					rows = append(rows, row)
				}
			}
		}
		line := []string{first.Name()}
		for _, figure := range costFigures {
			line = append(line, grows(rows, figure.of))
		}
		lines = append(lines, line)
	}
	return generated.Table(1, costHead(), lines)
}

// constant says whether a row's cost of a section does not grow from one run to the next.
func constant(before, after bench.Row) bool {
	power := growth(before, after, number("calls_per_section"))
	return power != nil && *power < 0.1
}

// grows names the growth between the last two runs.
func grows(rows []bench.Row, of func(bench.Row) *float64) string {
	if len(rows) < 2 {
		return bench.NotMeasured
	}
	after := rows[len(rows)-1]
	power := growth(rows[len(rows)-2], after, of)
	switch {
	case power == nil:
		return bench.NotMeasured
	case *of(after) == 0:
		return "none"
	case *power < -0.1:
		return "falls"
	case *power < 0.1:
		return "constant"
	case *power > 0.9 && *power < 1.1:
		return "linear"
	default:
		return fmt.Sprintf("n^%.1f", *power)
	}
}

// growth is the power of the number of clients that a figure grows with, nil when it was
// not measured.
func growth(before, after bench.Row, of func(bench.Row) *float64) *float64 {
	b, a := of(before), of(after)
	if b == nil || a == nil {
		return nil
	}
	if *b <= 0 || *a <= 0 {
		return new(0.0)
	}
	clients := float64(after.Count("turns")) / float64(before.Count("turns"))
	return new(math.Log(*a / *b) / math.Log(clients))
}

// These tests measure what docs/benchmark.md says about polling.

// lesson is a table of one part of a page.
type lesson struct {
	heads []string
	lines [][]string
}

func newLesson(t *testing.T, heads ...string) *lesson {
	locktest.Long(t, "it measures 100 clients for a table of a page")
	return &lesson{heads: heads}
}

func (l *lesson) line(cells ...string) { l.lines = append(l.lines, cells) }

// fresh shows the lesson to who runs it with -v, and holds the page against it.
func (l *lesson) fresh(t *testing.T, page, part string) {
	t.Helper()
	table := generated.Table(1, l.heads, l.lines)
	t.Log("\n" + table)
	generated.Compare(t, page, part, table)
}

func perSecond(row bench.Row) string { return row.Show("acquisitions_per_second", 0) }

func wait(row bench.Row, which string) string { return row.Show("wait_ms."+which, 1) }

func TestAShorterPauseCostsCommandsAndALongerOneTime(t *testing.T) {
	l := newLesson(t, "longest pause", "acquisitions/s", "commands a section", "wait p50, ms", "wait max, ms")
	var rows []bench.Row
	for _, pause := range []time.Duration{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		row := cost(t, subject(t, "gold"), 100, 0, func(r *bench.Settings) {
			r.Poll = pause * time.Millisecond
		})
		rows = append(rows, row)
		l.line((pause * time.Millisecond).String(), perSecond(row),
			row.Show("commands_per_section", 1), wait(row, "p50"), wait(row, "max"))
	}
	first, last := rows[0], rows[len(rows)-1]
	assert.Greater(t, *first.Number("commands_per_section"), 5**last.Number("commands_per_section"))
	assert.Greater(t, *first.Number("acquisitions_per_second"), 5**last.Number("acquisitions_per_second"))
	l.fresh(t, "benchmark.md", "curve")
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
			perSecond(row), row.Show("commands_per_section", 1), wait(row, "p50"), wait(row, "max"))
		speed = append(speed, *row.Number("acquisitions_per_second"))
	}
	assert.Greater(t, speed[0], 5*speed[1])
	l.fresh(t, "benchmark.md", "lockstep")
}

func TestWithTooFewConnectionsTheHolderQueuesBehindItsWaiters(t *testing.T) {
	l := newLesson(t, "connections", "acquisitions/s", "wait p50, ms", "wait max, ms")
	var speed []float64
	for _, pool := range []int{108, 20, 10} {
		row := cost(t, subject(t, "gold"), 100, pool, func(r *bench.Settings) { r.Poll = 2 * time.Millisecond })
		l.line(fmt.Sprint(pool), perSecond(row), wait(row, "p50"), wait(row, "max"))
		speed = append(speed, *row.Number("acquisitions_per_second"))
	}
	assert.Greater(t, speed[0], 1.3*speed[1])
	assert.Greater(t, speed[0], 3*speed[2])
	l.fresh(t, "benchmark.md", "pool")
}

func TestInAClosedLoopTheReleaserIsServedAgainAndTheMedianLooksFine(t *testing.T) {
	l := newLesson(t, "row", "turns", "acquisitions/s", "wait p50, ms", "wait max, ms", "jain", "in order, %")
	for _, name := range []string{"gold", "reentrant/notify"} {
		for _, loop := range []time.Duration{0, time.Second} {
			row := cost(t, subject(t, name), 20, 0, func(r *bench.Settings) {
				r.Loop, r.Stock = loop, 1_000_000
			})
			turns := "one each"
			if loop > 0 {
				turns = "for 1 s"
			}
			l.line(name, turns, perSecond(row), wait(row, "p50"), wait(row, "max"),
				row.Show("jain", 3), fmt.Sprintf("%.0f", 100**row.Number("in_order")))
			if name == "gold" && loop > 0 {
				assert.Less(t, *row.Number("wait_ms.p50"), 1.0, "one round trip: nobody else")
				assert.Less(t, *row.Number("jain"), 0.95)
			}
		}
	}
	l.fresh(t, "benchmark.md", "loop")
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
	l := newLesson(t, "lock", "all in one process", "each in a process of its own")
	speed := func(s bench.Subject, clients int) float64 {
		return *cost(t, s, clients, 0, nil).Number("acquisitions_per_second")
	}
	serial := speed(subject(t, "serial-limit"), 1)
	together, each := map[string]float64{}, map[string]float64{}
	for _, name := range []string{"diamond", "reentrant/notify", "reentrant/cohort"} {
		s := subject(t, name)
		together[name], each[name] = speed(s, 100)/serial, speed(apart(s), 100)/serial
		l.line(name, fmt.Sprintf("%.2f", together[name]), fmt.Sprintf("%.2f", each[name]))
	}
	assert.Greater(t, together["reentrant/cohort"], 1.5*together["reentrant/notify"])
	assert.Less(t, each["reentrant/cohort"], 1.1*each["reentrant/notify"])
	l.fresh(t, "choosing.md", "processes")
}
