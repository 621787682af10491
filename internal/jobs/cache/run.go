package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/lock"
)

// The settings of a run for which nothing else was asked.
const (
	DefaultRequests = 100_000
	DefaultServices = 4
	DefaultLoad     = 50 * time.Millisecond
	DefaultTTL      = 10 * time.Second
	DefaultTimeout  = 2 * time.Minute
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

// Around puts the baselines in front of the locks.
func Around(locks ...benchmark.Subject) []benchmark.Subject {
	return append([]benchmark.Subject{
		{Name: noLock, Kind: benchmark.Baseline, Nodes: 1},
		{Name: mutexPerService, Kind: benchmark.Baseline, Nodes: 1},
	}, locks...)
}

// Runner sends requests for a value that has expired, behind one lock after the
// other, on the same servers. Its fields are set before the first Measure.
type Runner struct {
	benchmark.Basic
	Requests int           // of all services together, at least 1
	Services int           // at least 1
	Load     time.Duration // that the database takes
	Poll     time.Duration // the longest pause of a refused request

	answered, under atomic.Int64
}

// Check returns what is wrong with the settings, if anything.
func (r *Runner) Check() error {
	switch {
	case r.Requests < 1:
		return fmt.Errorf("there are %d requests, at least 1 is needed",
			r.Requests)
	case r.Requests > 1_000_000:
		return fmt.Errorf("there are %d requests, at most 1000000 are sent at"+
			" one instant", r.Requests)
	case r.Services < 1:
		return fmt.Errorf("there are %d services, at least 1 is needed",
			r.Services)
	case r.Services > 100:
		return fmt.Errorf("there are %d services, at most 100 are connected",
			r.Services)
	case r.Load < 0:
		return fmt.Errorf("a load takes %v, it must not be negative", r.Load)
	case r.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", r.TTL)
	case r.Poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", r.Poll)
	case r.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", r.Timeout)
	}
	return nil
}

// Row is what was measured of one lock. A figure that was not measured is nil.
type Row struct {
	Rung     string         `json:"rung"`
	Kind     benchmark.Kind `json:"kind"`
	Nodes    int            `json:"nodes"` // Redis servers that the lock was on
	Services int            `json:"services"`
	Requests int            `json:"requests"`
	LoadMs   float64        `json:"load_ms"`
	PollMs   float64        `json:"poll_ms"`

	Loads int `json:"loads"` // of the database

	// Values are how many requests were answered with which value; Cached is
	// what the cache holds at the end.
	Values map[string]int `json:"values"`
	Cached *string        `json:"cached"`

	Finished bool    `json:"finished"` // every request was answered
	Seconds  float64 `json:"seconds"`  // until the last answer
	Answer   *Answer `json:"answer_ms"`

	Attempts *int64 `json:"attempts"` // at the lock

	// Sent from the miss of the last request on.
	CommandsPerRequest   float64 `json:"commands_per_request"`
	RoundTripsPerRequest float64 `json:"round_trips_per_request"`

	Failures     int     `json:"failures"`
	FirstFailure *string `json:"first_failure"`
	Interrupted  bool    `json:"interrupted"`
}

// Answer is how long requests waited for their answers, in milliseconds.
type Answer struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Answered is how many requests of the row under way were answered, of how many.
func (r *Runner) Answered() (n, of int) {
	return int(r.answered.Load()), int(r.under.Load())
}

// errTimeout says that a row has taken too long.
var errTimeout = errors.New("the row has taken too long")

// tally is what the requests of a row have seen.
type tally struct {
	mu      sync.Mutex
	values  map[string]int
	answers *hdrhistogram.Histogram // in microseconds
	cut     int
	failed  int
	first   error
}

// Measure lets all requests look into the cache, where nothing is any more, and
// then all go on at once. It returns when the last one was answered, when
// the timeout is over or when ctx ends, and an error when the row could not begin.
func (r *Runner) Measure(ctx context.Context, subject benchmark.Subject) (
	Row, error) {
	row, err := r.measure(ctx, subject)
	if err != nil {
		return Row{}, fmt.Errorf("refill the cache behind %s: %w", subject.Name,
			err)
	}
	return row, nil
}

func (r *Runner) measure(ctx context.Context, subject benchmark.Subject) (
	Row, error) {
	nodes := min(max(subject.Nodes, 1), r.Servers.Nodes())
	r.Servers.Clear()
	prefix := r.Servers.Prefix("cache:" + subject.Name)
	database := &Database{Takes: func(int) time.Duration { return r.Load }}
	var attempts atomic.Int64
	var missed sync.WaitGroup
	missed.Add(r.Requests)

	var clients []*redis.Client
	client := func(node, n int) *redis.Client {
		rdb := r.Servers.Client(node, n)
		clients = append(clients, rdb)
		return rdb
	}
	defer func() {
		for _, rdb := range clients {
			rdb.Close()
		}
	}()
	services := make([]*Service, r.Services)
	gates := make([]chan struct{}, r.Services)
	for i := range services {
		s := &Service{Cache: client(0, connections), Refill: client(0, refills),
			Key: prefix + "value", Keep: keep, Load: database.Load}
		// A client that queues for a connection behind thousands is late, not lost.
		env := lock.Env{Key: prefix + "lock", TTL: r.TTL,
			Options: []lock.Option{lock.PollEvery(r.Poll),
				lock.NodeTimeout(max(r.TTL/2, time.Millisecond))}}
		for node := range nodes {
			env.Nodes = append(env.Nodes, client(node, connections))
		}
		switch {
		case subject.Name == noLock:
		case subject.Name == mutexPerService:
			s.Guard = NewMutex()
		case subject.Build == nil:
			return Row{}, fmt.Errorf("%w: nothing builds the lock",
				lock.ErrInvalid)
		default:
			if _, err := subject.Build(env); err != nil {
				return Row{}, fmt.Errorf("build the lock: %w", err)
			}
			s.Guard = Locked{Build: subject.Build, Env: env,
				Asked: func(bool) { attempts.Add(1) }}
		}
		services[i], gates[i] = s, make(chan struct{})
	}

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := &tally{values: map[string]int{},
		answers: hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
	r.answered.Store(0)
	r.under.Store(int64(r.Requests))
	defer r.under.Store(0)
	runtime.GC() // so that no row pays for the one before it
	var open time.Time
	var through sync.WaitGroup
	for i := range r.Requests {
		through.Go(func() {
			s := *services[i%r.Services]
			s.Missed = sync.OnceFunc(func() {
				missed.Done()
				<-gates[i%r.Services]
			})
			value, err := s.Get(ctx)
			s.Missed() // of a request that failed before it missed
			t.count(ctx, value, err, time.Since(open))
			r.answered.Add(1)
		})
	}
	missed.Wait()
	commands, trips := r.Servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(r.Timeout, func() { end(errTimeout) })
	defer timeout.Stop()
	// One of each service by turns, and the first ones a moment ahead: at one
	// instant the crowd of one service would run before the first of another,
	// and that would find the value loaded.
	for i := range r.Requests {
		if i == r.Services {
			time.Sleep(min(r.Load/10, 5*time.Millisecond))
		}
		gates[i%r.Services] <- struct{}{}
	}
	through.Wait()
	took := time.Since(open)

	row := Row{Rung: subject.Name, Kind: subject.Kind, Nodes: nodes,
		Services: r.Services, Requests: r.Requests, LoadMs: benchmark.Milliseconds(r.Load),
		PollMs: benchmark.Milliseconds(r.Poll), Loads: database.Loads(), Values: t.values,
		Finished: t.cut == 0, Seconds: benchmark.Rounded(took.Seconds(), 3),
		Answer: t.answer(), Failures: t.failed,
		Interrupted: ctx.Err() != nil && context.Cause(ctx) != errTimeout}
	c, n := r.Servers.Traffic()
	requests := float64(r.Requests)
	row.CommandsPerRequest = benchmark.Rounded(float64(c-commands)/requests, 3)
	row.RoundTripsPerRequest = benchmark.Rounded(float64(n-trips)/requests, 3)
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
		// Longer than an hour is an hour.
		_ = t.answers.RecordValue(min(took, time.Hour).Microseconds())
	case ctx.Err() != nil:
		t.cut++
	default:
		t.failed++
		if t.first == nil {
			t.first = err
		}
	}
}

// answer is nil when there was none.
func (t *tally) answer() *Answer {
	if t.answers.TotalCount() == 0 {
		return nil
	}
	at := func(percent float64) float64 {
		return benchmark.Rounded(float64(t.answers.ValueAtQuantile(percent))/1000, 3)
	}
	return &Answer{at(50), at(99), at(100)}
}
