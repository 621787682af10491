package cache

import (
	"context"
	"fmt"
	"runtime"
	"sync"
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
)

// The baselines.
const (
	noLock          = "no-lock"
	mutexPerService = "mutex-per-service"
)

// Row is what was measured of one lock. A figure that was not measured is nil.
type Row struct {
	Rung     string     `json:"rung"`
	Kind     bench.Kind `json:"kind"`
	Nodes    int        `json:"nodes"` // Redis servers that the lock was on
	Services int        `json:"services"`
	Requests int        `json:"requests"`
	LoadMs   float64    `json:"load_ms"`
	PollMs   float64    `json:"poll_ms"`

	Loads int `json:"loads"` // of the database

	// Values are how many requests were answered with which value; Cached is
	// what the cache holds at the end.
	Values map[string]int `json:"values"`
	Cached *string        `json:"cached"`

	Finished bool         `json:"finished"` // every request was answered
	Seconds  float64      `json:"seconds"`  // until the last answer
	Answer   *bench.Times `json:"answer_ms"`

	Attempts *int64 `json:"attempts"` // at the lock

	// Sent from the miss of the last request on.
	CommandsPerRequest   float64 `json:"commands_per_request"`
	RoundTripsPerRequest float64 `json:"round_trips_per_request"`

	Failures     int     `json:"failures"`
	FirstFailure *string `json:"first_failure"`
	Interrupted  bool    `json:"interrupted"`
}

// tally is what the requests of a row have seen.
type tally struct {
	mu      sync.Mutex
	values  map[string]int
	answers bench.Clock
	cut     int
	failed  int
	first   error
}

// measure lets all requests look into the cache, where nothing is any more, and
// then all go on at once. It returns when the last one was answered, when
// the timeout is over or when ctx ends, and an error when the row could not begin.
func (w *Workload) measure(ctx context.Context, subject bench.Subject) (
	Row, error) {
	nodes := min(max(subject.Nodes, 1), w.Servers.Nodes())
	w.Servers.Clear()
	prefix := w.Servers.Prefix("cache:" + subject.Name)
	database := &Database{Takes: func(int) time.Duration { return w.load }}
	var attempts atomic.Int64
	var missed sync.WaitGroup
	missed.Add(w.requests)

	var clients []*redis.Client
	client := func(node, n int) *redis.Client {
		rdb := w.Servers.Client(node, n)
		clients = append(clients, rdb)
		return rdb
	}
	defer func() {
		for _, rdb := range clients {
			rdb.Close()
		}
	}()
	services := make([]*Service, w.services)
	gates := make([]chan struct{}, w.services)
	for i := range services {
		s := &Service{Cache: client(0, connections), Refill: client(0, refills),
			Key: prefix + "value", Keep: keep, Load: database.Load}
		// A client that queues for a connection behind thousands is late, not lost.
		env := lock.Env{Key: prefix + "lock", TTL: w.TTL,
			Options: []lock.Option{lock.PollEvery(w.poll),
				lock.NodeTimeout(max(w.TTL/2, time.Millisecond))}}
		for node := range nodes {
			env.Nodes = append(env.Nodes, client(node, connections))
		}
		switch {
		case subject.Name == noLock:
		case subject.Name == mutexPerService:
			s.Guard = NewMutex()
		default:
			if _, err := subject.Build(env); err != nil {
				return Row{}, fmt.Errorf("build the lock: %w", err)
			}
			s.Guard = Locked{Build: subject.Build, Env: env,
				Asked: func(bool) { attempts.Add(1) }}
		}
		services[i], gates[i] = s, make(chan struct{})
	}

	limited, end := context.WithCancel(ctx)
	defer end()
	t := &tally{values: map[string]int{}, answers: bench.NewClock()}
	w.answered.Store(0)
	w.under.Store(int64(w.requests))
	defer w.under.Store(0)
	runtime.GC() // so that no row pays for the one before it
	var open time.Time
	var through sync.WaitGroup
	for i := range w.requests {
		through.Go(func() {
			s := *services[i%w.services]
			s.Missed = sync.OnceFunc(func() {
				missed.Done()
				<-gates[i%w.services]
			})
			value, err := s.Get(limited)
			s.Missed() // of a request that failed before it missed
			t.count(limited, value, err, time.Since(open))
			w.answered.Add(1)
		})
	}
	missed.Wait()
	commands, trips := w.Servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(w.Timeout, end)
	defer timeout.Stop()
	// One of each service by turns, and the first ones a moment ahead: at one
	// instant the crowd of one service would run before the first of another,
	// and that would find the value loaded.
	for i := range w.requests {
		if i == w.services {
			time.Sleep(min(w.load/10, 5*time.Millisecond))
		}
		gates[i%w.services] <- struct{}{}
	}
	through.Wait()
	took := time.Since(open)

	row := Row{Rung: subject.Name, Kind: subject.Kind, Nodes: nodes,
		Services: w.services, Requests: w.requests, LoadMs: bench.Milliseconds(w.load),
		PollMs: bench.Milliseconds(w.poll), Loads: database.Loads(), Values: t.values,
		Finished: t.cut == 0, Seconds: bench.Rounded(took.Seconds(), 3),
		Answer: t.answers.Times(), Failures: t.failed,
		Interrupted: ctx.Err() != nil}
	c, n := w.Servers.Traffic()
	requests := float64(w.requests)
	row.CommandsPerRequest = bench.Rounded(float64(c-commands)/requests, 3)
	row.RoundTripsPerRequest = bench.Rounded(float64(n-trips)/requests, 3)
	if subject.Build != nil {
		row.Attempts = new(attempts.Load())
	}
	if t.first != nil {
		row.FirstFailure = new(t.first.Error())
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if cached, err := services[0].Refill.Get(last,
		services[0].Key).Result(); err == nil {
		row.Cached = &cached
	}
	return row, nil
}

func (t *tally) count(ctx context.Context, value string, err error,
	took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.values[value]++
		t.answers.Record(took)
	case ctx.Err() != nil:
		t.cut++
	default:
		t.failed++
		if t.first == nil {
			t.first = err
		}
	}
}
