package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

// These tests measure subjects in virtual time: the costs of a lock, apart from any
// machine. The servers are those of the scenarios' laboratory and answer at
// once; only the network takes time. The same code gives the same figures on
// every machine, to the digit.

// rtt is the round-trip time of the network, half of it in either direction.
const rtt = 500 * time.Microsecond

// startsApart is the time between the starts of two clients. No multiple of it, for up
// to 249,999 clients, is a multiple of half a round trip: a client that starts
// would meet the messages of those that are under way at the same instant, and
// the scheduler would decide which goes first.
const startsApart = 1001 * time.Nanosecond

// cost lets the clients of one process take turns at a stock, in virtual time. They
// share so many connections; 0 is one for each. settings changes what is measured; nil
// changes nothing.
func cost(t *testing.T, subject bench.Subject, clients, pool int,
	settings func(*bench.Settings)) (row bench.Row) {
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
		servers := nodes.Virtual(count,
			nodes.Config{Clients: clients, Pool: pool, RTT: rtt, Prefix: "bench:"},
			func(node int) (net.Conn, error) { return process.Dial(w.Node(node)) },
			calls.Load)
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
		generated.Compare(t, "benchmark.md",
			fmt.Sprintf("costs of %d", clients), costTable(rows))
	}
	if len(runs) > 3 {
		generated.Compare(t, "benchmark.md", "growth", growthTable(runs))
	}
}

// costs measures all subjects; with 10,000 clients those whose cost did not grow.
func costs(t *testing.T, clients int, runs [][]bench.Row) (measured []bench.Row) {
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
	for _, row := range rows {
		if row.Name() != "" {
			measured = append(measured, row)
		}
	}
	return measured
}

// A client that has had a turn queues up behind all others: in a closed loop everybody
// waits for as long, and has as many turns.
func TestInAClosedLoopACohortServesEverybodyAlike(t *testing.T) {
	locktest.Long(t, "it measures 100 clients for two seconds")
	row := cost(t, subject(t, "reentrant/cohort"), 100, 0, func(s *bench.Settings) {
		s.Loop, s.Stock, s.Rounds = time.Second, 1_000_000, 2
	})
	assert.GreaterOrEqual(t, *row.Number("jain"), 0.99)
	assert.LessOrEqual(t, *row.Number("wait_ms.max"), 2**row.Number("wait_ms.p50"))
	assert.EqualValues(t, 1.0, row.Value("serial_max_over_p50"), "virtual time is even")
}

// costTable is a Markdown table of what was measured with one number of clients.
func costTable(rows []bench.Row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| row | commands | round trips | calls | woken |"+
		" makespan, s | ms a section | in order, % |")
	fmt.Fprintln(&b, "|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, row := range rows {
		digits, ofSeconds := 3, 4
		if row.Count("turns") > 1000 {
			// Of so many clients, some act at the same instant, and the Go
			// scheduler decides which goes first: in fair the last but one digit
			// of these figures differs from one run to the next.
			digits, ofSeconds = 1, 2
		}
		fmt.Fprintf(&b, "| %s |", row.Name())
		for i, digits := range []int{digits, digits, digits, digits, ofSeconds, 3, 1} {
			fmt.Fprintf(&b, " %s |", bench.Decimal(costFigures[i].of(row), digits))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// costFigures are the columns of that table, and of the one of how they grow.
var costFigures = []struct {
	head string
	of   func(bench.Row) *float64
}{
	{"commands", number("commands_per_section")},
	{"round trips", number("round_trips_per_section")},
	{"calls", number("calls_per_section")},
	// How many clients were woken for every hand-over: how often one that was refused
	// asked again.
	{"woken", perSection("retries", 1)},
	{"makespan", number("seconds")},
	{"ms a section", perSection("seconds", 1000)},
	{"in order, %", func(r bench.Row) *float64 { return bench.Percent(r.Number("in_order")) }},
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
	head := []string{"row"}
	for _, figure := range costFigures {
		head = append(head, figure.head)
	}
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
	return generated.Table(len(head), head, lines)
}

// constant says whether a row's cost of a section does not grow from one run to
// the next.
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
