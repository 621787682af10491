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

	"github.com/lockladder/lockladder/field/jobs/cache"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) { locktest.Main(m) }

const ms = time.Millisecond

// outcome is what has happened to the requests of two services.
type outcome struct {
	loads    int
	seen     map[string][]string // service: what its requests were answered
	holds    string              // what the cache has at the end
	timeline string
	answered time.Duration // when the last answer was given
	failed   int           // requests that were given none within a minute
}

// guards makes the guard of a service.
type guards func(c *lab.Client) cache.Guard

// requests sends two requests to each of two services, in virtual time. The first load of
// the database takes so long, and the others as long as the last of takes. A may die in the
// middle of its load.
func requests(t *testing.T, guard guards, dies bool, takes ...time.Duration) outcome {
	t.Helper()
	o := outcome{seen: map[string][]string{}}
	config := lab.Config{Nodes: 5, Key: "lock", TTL: 10 * time.Second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		for i, name := range []string{"A", "B"} {
			c := w.Client(name)
			s := &cache.Service{RDB: c.Env("").Nodes[0], Key: "stock",
				Keep: time.Minute, Guard: guard(c),
				Load: func(ctx context.Context) (string, error) {
					value, long := "100", takes[0]
					c.Step("loads", func() {
						c.Note("loads from the database")
						if o.loads++; o.loads > 1 {
							// Somebody buys one right after the first load has read it ([wukong]).
							value, long = "99", takes[len(takes)-1]
						}
					})
					err := lock.Sleep(ctx, long)
					if dies && name == "A" {
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
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					value, err := s.Get(ctx)
					c.Step("answers", func() {
						if err != nil {
							c.Note("gives up: %v", err)
							o.failed++
							return
						}
						c.Note("answers %s", value)
						o.seen[name] = append(o.seen[name], value)
						o.answered = w.Now()
					})
				})
			}
		}
		w.Record()
		w.Play()
		require.Empty(t, w.Failures())
		o.timeline = w.Render(-1)
		o.holds = w.Node(0).Observe("stock").Value
	}))
	t.Logf("\n%s", o.timeline)
	return o
}

// mutexes is a mutex for each service.
func mutexes(*lab.Client) cache.Guard { return cache.Mutex() }

// behind is a lock that all services share.
func behind(rung ladder.Rung) guards {
	return func(c *lab.Client) cache.Guard {
		env := c.Env("lock")
		env.Nodes = env.Nodes[:rung.Nodes]
		return cache.Locked{Build: rung.Build, Env: env}.Refill
	}
}

// Between a request's look and its grant another one may load and release.
func TestAHolderLooksOnceMore(t *testing.T) {
	rung := locktest.Find(t, "diamond")
	s := requests(t, func(c *lab.Client) cache.Guard {
		if c.Name == "B" {
			const asks = 3 // after two looks
			c.Fault(lab.Renewal, asks, lab.Fault{Deliver: 200 * ms})
		}
		return behind(rung)(c)
	}, false, 50*ms)
	assert.Regexp(t, `B#1 EX 10 NX, sent at[ -]+\n +0\.010 -> OK`, s.timeline, "B has the lock")
	assert.Equal(t, 1, s.loads)
}

func TestAWaiterDoesNotAskForTheLockWhenTheValueIsThere(t *testing.T) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			s := requests(t, behind(rung), false, 50*ms)
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
	m := cache.Mutex()
	load := func(context.Context) (string, error) {
		_, err := m(ctx, nil, nil)
		return "", err
	}
	_, err := m(t.Context(), nil, load)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestCacheTablesOfThePageAreFresh(t *testing.T) {
	locktest.WhenNamed(t, "it runs every scenario of the page:"+
		" cd field && go test ./jobs/cache -run CacheTablesOfThePage")
	generated.Compare(t, "cache.md", "mutex",
		generated.Block(requests(t, mutexes, false, 80*ms, 50*ms).timeline))
	var rows [][]string
	row := func(name string, guard guards) {
		usual := requests(t, guard, false, 80*ms, 50*ms)
		long := requests(t, guard, false, 15*time.Second)
		dies := requests(t, guard, true, 50*ms)
		last := fmt.Sprintf("%.1f s", dies.answered.Seconds())
		if dies.failed > 0 {
			last = "**never**"
		}
		rows = append(rows, []string{name, fmt.Sprint(usual.loads),
			fmt.Sprintf("%s / %s", usual.seen["A"][0], usual.seen["B"][0]),
			usual.holds, fmt.Sprint(long.loads), last})
	}
	row("no lock", func(*lab.Client) cache.Guard { return nil })
	row("a mutex in each service", mutexes)
	for _, rung := range ladder.Rungs {
		row(rung.Name, behind(rung))
	}
	generated.Compare(t, "cache.md", "locks", generated.Table(1, []string{"", "loads",
		"A / B answer", "cache holds", "loads of 15 s", "A dies: last answer"}, rows))
}
