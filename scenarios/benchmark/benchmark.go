// Package benchmark measures a lock of your own as an ordinary Go benchmark, beside rungs of
// the ladder if you like. It is the job of go run ./bench: many clients share a stock, and
// each of them acquires the lock, reads the stock, takes one if there is any, and releases.
//
//	func BenchmarkMyLock(b *testing.B) {
//		benchmark.Run(b, build, benchmark.Beside("diamond", "reentrant/notify"))
//	}
//
// An operation is a client's turn. Each iteration is a round in which every client has one,
// just after the serial limit: one client that has all turns, alone, and never waits.
// times-serial compares the two, and is the figure that means the same on another machine.
// For benchstat, run it several times:
//
//	go test -run '^$' -bench MyLock -count 10 > new.txt
//	benchstat -col /lock new.txt
package benchmark

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// Option changes what Run measures.
type Option func(*settings)

type settings struct {
	rungs   []string
	clients int
	nodes   int
	redis   string
}

// Beside measures these rungs of the ladder as well, by their names: "reentrant/notify".
func Beside(rungs ...string) Option {
	return func(s *settings) { s.rungs = append(s.rungs, rungs...) }
}

// Clients is how many start at one instant; the default is 100.
func Clients(n int) Option { return func(s *settings) { s.clients = n } }

// Nodes is how many independent Redis servers the lock needs; the default is one.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Redis names real servers: "auto" starts some, and host:port, several of them separated
// by commas, uses yours, under keys that are removed at the end. Without it the
// environment's LOCKLADDER_REDIS does, and without that the servers are embedded in the
// test: fine to see whether a change costs commands, and no measure of speed.
func Redis(servers string) Option { return func(s *settings) { s.redis = servers } }

// Run measures the lock that build makes, as the sub-benchmark lock=own, and what is
// beside it. It fails b when servers can't be had, when a lock can't be built, or when a
// turn fails; a lock that lets two clients in at a time is reported by lost-updates.
func Run(b *testing.B, build lock.Build, options ...Option) {
	b.Helper()
	s := settings{clients: 100, nodes: 1, redis: os.Getenv(servers.Variable)}
	for _, set := range options {
		set(&s)
	}
	subjects := []bench.Subject{{Name: "own", Kind: bench.Alternative, Nodes: s.nodes, Build: build}}
	for _, name := range s.rungs {
		rung, err := ladder.Find(name)
		if err != nil {
			b.Fatal(err)
		}
		subjects = append(subjects, bench.Subject{Name: rung.Name, Kind: bench.Rung,
			Nodes: rung.Nodes, Build: rung.Build})
		s.nodes = max(s.nodes, rung.Nodes)
	}
	all, down, err := bench.Open(b.Context(), s.redis, s.nodes, bench.Config{Clients: s.clients})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := down(b.Context()); err != nil {
			b.Error(err)
		}
	})
	r := &bench.Runner{Servers: all, Settings: bench.Settings{Clients: s.clients,
		Stock: s.clients, TTL: bench.DefaultTTL, Timeout: bench.DefaultTimeout,
		Grace: bench.DefaultGrace, Patience: 1}} // one round, and no more
	for _, subject := range subjects {
		name := fmt.Sprintf("lock=%s/clients=%d", strings.ReplaceAll(subject.Name, "/", "."),
			s.clients)
		b.Run(name, func(b *testing.B) { measure(b, r, subject) })
	}
}

// measure reports the medians of the rounds, and the worst of what must not happen.
func measure(b *testing.B, r *bench.Runner, subject bench.Subject) {
	var rounds []bench.Row
	for b.Loop() {
		row, err := r.Measure(b.Context(), subject)
		if err != nil {
			b.Fatal(err)
		}
		if notes := row.Notes(); len(notes) > 0 {
			b.Fatal(strings.Join(notes, "; "))
		}
		rounds = append(rounds, row.Rounds...)
	}
	bench.Median(rounds, len(rounds)).Report(b.ReportMetric)
}
