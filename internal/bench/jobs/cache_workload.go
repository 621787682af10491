package jobs

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

const (
	// connections of a service to the cache, and to each node of the lock.
	connections = 16

	// refills are connections for those that load.
	refills = 4

	// keep is how long a value stays in the cache: longer than any row.
	keep = time.Hour

	// mutexPerService is a baseline, and so is noLock.
	mutexPerService = "mutex-per-service"

	// answer is what a request is given.
	answer = "answer"
)

// CacheWorkload sends requests for a value that has expired, behind one lock after the
// other, on the same servers.
type CacheWorkload struct {
	crowd
	requests int           // of all services together
	services int           // at least 1
	load     time.Duration // that the database takes
	poll     time.Duration // the longest pause of a refused request
}

// Flags defines the flags.
func (w *CacheWorkload) Flags(flags *flag.FlagSet) func(bench.Run) (bench.Plan, error) {
	flags.IntVar(&w.requests, "requests", 100_000,
		"how many `requests` there are, to all services together")
	flags.IntVar(&w.services, "services", 4,
		"how many `services` there are, each with connections of its own")
	flags.DurationVar(&w.load, "load", 50*time.Millisecond,
		"how long the database takes")
	flags.DurationVar(&w.ttl, "ttl", 10*time.Second, "the lease of the lock")
	flags.DurationVar(&w.poll, "poll", lock.DefaultPoll,
		"the longest pause of a refused request")
	flags.DurationVar(&w.timeout, "timeout", 2*time.Minute,
		"ends a row that takes longer; it is reported all the same")
	return func(run bench.Run) (bench.Plan, error) {
		nothing := cached{CacheWorkload: w, tally: newTally(bench.Subject{}, 1, answer)}
		return w.plan(run, 1, w.header(), nothing.row()), w.check()
	}
}

// check returns what is wrong with the settings, if anything.
func (w *CacheWorkload) check() error {
	switch {
	case w.requests < 1:
		return fmt.Errorf("there are %d requests, at least 1 is needed",
			w.requests)
	case w.requests > 1_000_000:
		return fmt.Errorf("there are %d requests, at most 1000000 are sent at"+
			" one instant", w.requests)
	case w.services < 1:
		return fmt.Errorf("there are %d services, at least 1 is needed",
			w.services)
	case w.services > 100:
		return fmt.Errorf("there are %d services, at most 100 are connected",
			w.services)
	case w.load < 0:
		return fmt.Errorf("a load takes %v, it must not be negative", w.load)
	case w.poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", w.poll)
	}
	return w.crowd.check()
}

// Subjects are the locks, with the baselines in front.
func (w *CacheWorkload) Subjects(locks []bench.Subject) []bench.Subject {
	return append(bench.Baselines(noLock, mutexPerService), bench.Locks(locks)...)
}

// header says what is done.
func (w *CacheWorkload) header() string {
	return fmt.Sprintf("%d requests to %d services have found that a value is "+
		"no longer in the cache.\nThe database takes %v; it has 100, and 99 "+
		"from the first load on.\nLease %v, at most %v a row. Refused requests "+
		"ask again within %v, with full jitter.\n", w.requests, w.services,
		w.load, w.ttl, w.timeout, w.poll)
}

// cached is what was measured of one lock.
type cached struct {
	*CacheWorkload
	*tally
	database Database
	holds    any // what the cache has at the end
	attempts atomic.Int64
	all      []*redis.Client // of the services
}

// Measure lets all requests look into the cache, where nothing is any more, and
// then all go on at once. It returns when the last one was answered, when
// the timeout is over or when ctx ends, and an error when the row could not begin.
func (w *CacheWorkload) Measure(ctx context.Context, run bench.Run, subject bench.Subject) (
	bench.Row, error) {
	w.servers = run.Servers
	w.servers.Clear()
	m := &cached{CacheWorkload: w, tally: newTally(subject, w.servers.Nodes(), answer),
		database: Database{Takes: func(int) time.Duration { return w.load }}}
	defer m.close()
	services := make([]*CacheService, w.services)
	for i := range services {
		var err error
		if services[i], err = m.service(); err != nil {
			return bench.Row{}, fmt.Errorf("refill the cache behind %s: %w", subject.Name, err)
		}
	}
	// The requests come to the services by turns, and the first ones a moment ahead:
	// at one instant the crowd of one service would run before the first of another,
	// and that would find the value loaded.
	first := ahead{clients: w.services, by: min(w.load/10, 5*time.Millisecond)}
	w.run(ctx, m.tally, w.requests, first,
		func(ctx context.Context, i int, ready func() time.Time) {
			s := *services[i%w.services]
			s.Missed = func() { ready() }
			value, err := s.Get(ctx)
			m.add(ctx, err, time.Since(ready()), answer, value)
		})
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if holds, err := services[0].Refill.Get(last, services[0].Key).Result(); err == nil {
		m.holds = holds
	}
	return m.row(), nil
}

func (m *cached) open(node, connections int) *redis.Client {
	rdb := m.servers.Client(node, connections)
	m.all = append(m.all, rdb)
	return rdb
}

func (m *cached) close() {
	for _, rdb := range m.all {
		rdb.Close()
	}
}

// service makes a service, and counts the attempts at its lock.
func (m *cached) service() (*CacheService, error) {
	prefix := m.servers.Prefix("cache:" + m.subject.Name)
	s := &CacheService{Cache: m.open(0, connections), Refill: m.open(0, refills),
		Key: prefix + "value", Keep: keep, Load: m.database.Load}
	switch m.subject.Name {
	case noLock:
		return s, nil
	case mutexPerService:
		s.Guard = NewMutex()
		return s, nil
	}
	var own []redis.UniversalClient
	for node := range m.nodes {
		own = append(own, m.open(node, connections))
	}
	env := m.env(own, prefix+"lock", m.poll)
	if _, err := m.subject.Build(env); err != nil {
		return nil, fmt.Errorf("build the lock: %w", err)
	}
	s.Guard = Locked{Build: m.subject.Build, Env: env,
		Asked: func(bool) { m.attempts.Add(1) }}
	return s, nil
}

func (m *cached) row() bench.Row {
	wait := m.clocks[answer]
	var attempts any
	if m.subject.Build != nil {
		attempts = m.attempts.Load()
	}
	each := func(n int64) float64 { return bench.Rounded(float64(n)/float64(m.requests), 3) }
	return m.tally.row("request", m.requests, []bench.Figure{
		{Name: "services", Value: m.services},
		{Name: "requests", Value: m.requests},
		{Name: "load_ms", Value: bench.Milliseconds(m.load)},
		{Name: "poll_ms", Value: bench.Milliseconds(m.poll)},
		{Name: "loads", Value: m.database.Loads(), Column: bench.NewColumn("", "loads", 7, 0),
			Legend: "loads: of the database"},
		{Name: "values.100", Value: m.counts["100"], Column: bench.NewColumn("saw", "100", 8, 0),
			Legend: "saw: requests that were answered 100, and 99"},
		{Name: "values.99", Value: m.counts["99"], Column: bench.NewColumn("saw", "99", 8, 0)},
		{Name: "cached", Value: m.holds, Column: bench.NewColumn("cache", "holds", 7, 0),
			Legend: "cache holds: at the end"},
		{Name: "seconds", Value: bench.Rounded(m.took.Seconds(), 3),
			Column: bench.NewColumn("last", "s", 8, 2), Legend: "last: until the last answer"},
		{Name: "answer_ms.p50", Value: wait.At(50), Column: bench.NewColumn("p50", "ms", 8, 0),
			Legend: "p50, p99: until an answer"},
		{Name: "answer_ms.p99", Value: wait.At(99), Column: bench.NewColumn("p99", "ms", 8, 0)},
		{Name: "answer_ms.max", Value: wait.At(100)},
		{Name: "attempts", Value: attempts},
		{Name: "commands_per_request", Value: each(m.commands),
			Column: bench.NewColumn("commands", "/request", 9, 2),
			Legend: "commands: from the miss on, with the attempts at the lock"},
		{Name: "round_trips_per_request", Value: each(m.roundTrips)},
	})
}
