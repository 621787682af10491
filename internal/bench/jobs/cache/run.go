package cache

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs"
)

const (
	// connections of a service to the cache, and to each node of the lock.
	connections = 16

	// refills are connections for those that load.
	refills = 4

	// keep is how long a value stays in the cache: longer than any row.
	keep = time.Hour

	// mutexPerService is a baseline, and so is jobs.NoLock.
	mutexPerService = "mutex-per-service"

	// answer is what a request is given.
	answer = "answer"
)

// measured is what was measured of one lock.
type measured struct {
	*Workload
	*jobs.Tally
	loads    int    // of the database
	cached   any    // what the cache holds at the end
	attempts *int64 // at the lock
}

// Measure lets all requests look into the cache, where nothing is any more, and
// then all go on at once. It returns when the last one was answered, when
// the timeout is over or when ctx ends, and an error when the row could not begin.
func (w *Workload) Measure(ctx context.Context, run bench.Run, subject bench.Subject) (
	[]bench.Measured, error) {
	w.Servers = run.Servers
	w.Servers.Clear()
	m := measured{Workload: w, Tally: w.Tally(subject, answer)}
	database := &Database{Takes: func(int) time.Duration { return w.load }}
	clients := &clients{w: w}
	defer clients.close()
	var attempts atomic.Int64
	if subject.Build != nil {
		m.attempts = new(int64)
	}
	services := make([]*Service, w.services)
	for i := range services {
		var err error
		services[i], err = clients.service(subject, database, m.Nodes, &attempts)
		if err != nil {
			return nil, fmt.Errorf("refill the cache behind %s: %w", subject.Name, err)
		}
	}
	// The requests come to the services by turns, and the first ones a moment ahead:
	// at one instant the crowd of one service would run before the first of another,
	// and that would find the value loaded.
	first := jobs.Ahead{Clients: w.services, By: min(w.load/10, 5*time.Millisecond)}
	w.Run(ctx, m.Tally, w.requests, first,
		func(ctx context.Context, i int, ready func() time.Time) {
			s := *services[i%w.services]
			s.Missed = func() { ready() }
			value, err := s.Get(ctx)
			m.Add(ctx, err, time.Since(ready()), answer, value)
		})
	m.loads = database.Loads()
	if m.attempts != nil {
		*m.attempts = attempts.Load()
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if cached, err := services[0].Refill.Get(last, services[0].Key).Result(); err == nil {
		m.cached = cached
	}
	return figures.Rows(ctx, m, w.requests, "requests were answered", "requests")
}

// clients are those of all services.
type clients struct {
	w   *Workload
	all []*redis.Client
}

func (c *clients) open(node, connections int) *redis.Client {
	rdb := c.w.Servers.Client(node, connections)
	c.all = append(c.all, rdb)
	return rdb
}

func (c *clients) close() {
	for _, rdb := range c.all {
		rdb.Close()
	}
}

// service makes a service, and counts the attempts at its lock.
func (c *clients) service(subject bench.Subject, database *Database, nodes int,
	attempts *atomic.Int64) (*Service, error) {
	prefix := c.w.Servers.Prefix("cache:" + subject.Name)
	s := &Service{Cache: c.open(0, connections), Refill: c.open(0, refills),
		Key: prefix + "value", Keep: keep, Load: database.Load}
	switch subject.Name {
	case jobs.NoLock:
		return s, nil
	case mutexPerService:
		s.Guard = NewMutex()
		return s, nil
	}
	var own []redis.UniversalClient
	for node := range nodes {
		own = append(own, c.open(node, connections))
	}
	env := c.w.Env(own, prefix+"lock", c.w.poll)
	if _, err := subject.Build(env); err != nil {
		return nil, fmt.Errorf("build the lock: %w", err)
	}
	s.Guard = Locked{Build: subject.Build, Env: env,
		Asked: func(bool) { attempts.Add(1) }}
	return s, nil
}

var figures = jobs.Figures[measured]{
	jobs.Value("services", func(m measured) any { return m.services }),
	jobs.Value("requests", func(m measured) any { return m.requests }),
	jobs.Value("load_ms", func(m measured) any { return bench.Milliseconds(m.load) }),
	jobs.Value("poll_ms", func(m measured) any { return bench.Milliseconds(m.poll) }),
	jobs.Shown("loads", "", "loads", 7, 0, func(m measured) any { return m.loads }),
	jobs.Value("values", func(m measured) any { return m.values() }),
	jobs.Shown("", "saw", "100", 8, 0, func(m measured) any { return m.Counts["100"] }),
	jobs.Shown("", "saw", "99", 8, 0, func(m measured) any { return m.Counts["99"] }),
	jobs.Shown("cached", "cache", "holds", 7, 0, func(m measured) any { return m.cached }),
	jobs.Shown("seconds", "last", "s", 8, 2, func(m measured) any {
		return bench.Rounded(m.Took.Seconds(), 3)
	}),
	jobs.Value("answer_ms", func(m measured) any { return m.answers() }),
	jobs.Shown("", "p50", "ms", 8, 0, func(m measured) any {
		return m.answers().Show(0, func(t *bench.Times) float64 { return t.P50 })
	}),
	jobs.Shown("", "p99", "ms", 8, 0, func(m measured) any {
		return m.answers().Show(0, func(t *bench.Times) float64 { return t.P99 })
	}),
	jobs.Value("attempts", func(m measured) any { return m.attempts }),
	jobs.Shown("commands_per_request", "commands", "/request", 9, 2, func(m measured) any {
		return bench.Rounded(float64(m.Commands)/float64(m.requests), 3)
	}),
	jobs.Value("round_trips_per_request", func(m measured) any {
		return bench.Rounded(float64(m.RoundTrips)/float64(m.requests), 3)
	}),
}

// values are how many requests were answered with which value.
func (m measured) values() map[string]int {
	values := maps.Clone(m.Counts)
	delete(values, answer)
	return values
}

func (m measured) answers() *bench.Times { return m.Clocks[answer].Times() }
