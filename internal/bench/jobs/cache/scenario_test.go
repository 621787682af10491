package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/jobs/cache"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

const ms = time.Millisecond

// outcome is what has happened in a scenario.
type outcome struct {
	loads    int
	seen     map[string][]string // service: what its requests were answered
	cached   string
	timeline string
	answered time.Duration // when the last answer was given
	failed   int           // requests that were given none within a minute
}

// last is when the last answer was given.
func (s outcome) last() string {
	if s.failed > 0 {
		return "**never**"
	}
	return fmt.Sprintf("%.1f s", s.answered.Seconds())
}

// run sends two requests to each of two services, in virtual time. The loads of
// the database take so long, in the order in which they begin.
func run(t *testing.T, guard func(c *lab.Client) cache.Guard,
	takes ...time.Duration) outcome {
	t.Helper()
	s := scenario(t, guard, false, takes...)
	require.Zero(t, s.failed)
	return s
}

// runDeath lets A die in the middle of its load.
func runDeath(t *testing.T, guard func(c *lab.Client) cache.Guard) outcome {
	t.Helper()
	return scenario(t, guard, true, 50*ms)
}

func scenario(t *testing.T, guard func(c *lab.Client) cache.Guard, death bool,
	takes ...time.Duration) outcome {
	t.Helper()
	result := outcome{seen: map[string][]string{}}
	config := lab.Config{Nodes: 5, Key: "lock", TTL: 10 * time.Second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		database := &cache.Database{Takes: func(n int) time.Duration {
			return takes[min(n, len(takes))-1]
		}}
		for i, name := range []string{"A", "B"} {
			c := w.Client(name)
			rdb := c.Env("").Nodes[0]
			s := &cache.Service{Cache: rdb, Refill: rdb, Key: "stock",
				Keep: time.Minute, Guard: guard(c),
				Load: func(ctx context.Context) (string, error) {
					c.Step("loads", func() { c.Note("loads from the database") })
					value, err := database.Load(ctx)
					if death && c.Name == "A" {
						c.Step("dies", c.Crash)
						runtime.Goexit()
					}
					c.Step("has loaded", func() { c.Note("has loaded %s", value) })
					return value, err
				}}
			for request := range 2 {
				c.Go(func() {
					// B comes a moment later, and the second requests after that.
					c.Sleep(time.Duration(10*i+request) * ms)
					ctx, cancel := context.WithTimeout(context.Background(),
						time.Minute)
					defer cancel()
					value, err := s.Get(ctx)
					c.Step("answers", func() {
						if err != nil {
							c.Note("gives up: %v", err)
							result.failed++
							return
						}
						c.Note("answers %s", value)
						result.seen[name] = append(result.seen[name], value)
						result.answered = w.Now()
					})
				})
			}
		}
		w.Record()
		w.Play()
		require.Empty(t, w.Failures())
		result.timeline = w.Render(-1)
		result.loads = database.Loads()
		c := w.Client("judge")
		c.Go(func() {
			result.cached = c.Env("").Nodes[0].Get(w.Context(), "stock").Val()
		})
		w.Play()
	}))
	t.Logf("\n%s", result.timeline)
	return result
}

// mutexes is a mutex for each service.
func mutexes(*lab.Client) cache.Guard { return cache.NewMutex() }

// behind is a lock that all services share.
func behind(rung ladder.Rung) func(c *lab.Client) cache.Guard {
	return func(c *lab.Client) cache.Guard {
		env := c.Env("lock")
		env.Nodes = env.Nodes[:rung.Nodes]
		return cache.Locked{Build: rung.Build, Env: env}
	}
}

// Between a request's look and its grant another one may load and release.
func TestAHolderLooksOnceMore(t *testing.T) {
	rung := locktest.Find(t, "diamond")
	s := run(t, func(c *lab.Client) cache.Guard {
		if c.Name == "B" {
			const asks = 3 // after two looks
			c.Fault(lab.Renewal, asks, lab.Fault{Deliver: 200 * ms})
		}
		return behind(rung)(c)
	}, 50*ms)
	assert.Regexp(t, `B#1 EX 10 NX, sent at[ -]+\n +0\.010 -> OK`, s.timeline, "B has the lock")
	assert.Equal(t, 1, s.loads)
}

func TestAWaiterDoesNotAskForTheLockWhenTheValueIsThere(t *testing.T) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			s := run(t, behind(rung), 50*ms)
			_, after, stored := strings.Cut(s.timeline, "SET stock 100")
			require.True(t, stored)
			for line := range strings.Lines(after) {
				if strings.Contains(line, "  B  ") {
					assert.NotContains(t, line, "lock", after)
				}
			}
		})
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := cache.NewMutex()
	load := func(context.Context) (string, error) {
		_, err := m.Refill(ctx, nil, nil)
		return "", err
	}
	_, err := m.Refill(t.Context(), nil, load)
	assert.ErrorIs(t, err, context.Canceled)
}
