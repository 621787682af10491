package exercises_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
)

// The exercise cohort asks for two bounds, and either of them alone is refused. Both
// together, as its hints tell, are enough.
func TestAHandOverIsBoundedByANumberAndByTheLease(t *testing.T) {
	e, err := exercise.Find("cohort")
	require.NoError(t, err)
	const unbounded = 1000
	third := func(ttl time.Duration) time.Duration { return ttl / 3 }
	never := func(ttl time.Duration) time.Duration { return unbounded * ttl }
	for _, test := range []struct {
		name    string
		most    int                                   // hand-overs of one grant
		within  func(ttl time.Duration) time.Duration // in which it is passed on
		refused string
	}{
		{"both", 16, third, ""},
		{"a number alone", 16, never, "sections of 1s"},
		{"the lease alone", unbounded, third, "sections of 10ms"},
		{"a number and three seconds", 16, func(time.Duration) time.Duration {
			return 3 * time.Second
		}, "with a lease of 1.5s: sections of 150ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var houses sync.Map // of *house, by the process's rdb
			build := func(env lock.Env) (lock.Lock, error) {
				options, err := lock.Configure(env.Nodes, env.Key, env.TTL,
					env.Options)
				at, _ := houses.LoadOrStore(env.Nodes[0], &house{most: test.most,
					within: test.within(env.TTL), turn: make(chan struct{}, 1)})
				return &guest{env: env, options: options,
					house: at.(*house)}, err
			}
			err := e.Check(t, build, nil)
			if test.refused == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.refused)
			assert.ErrorContains(t, err, "another process waited for")
		})
	}
}

// house is a process whose owners pass a grant on, as the hints of the exercise cohort
// tell.
type house struct {
	most   int
	within time.Duration

	turn    chan struct{} // holds one element while an owner has the turn
	waiting atomic.Int32  // owners

	// These belong to the owner that has the turn.
	token  string // of the grant, "" when the server has to be asked
	asked  time.Time
	passed int
	yields bool // another process has its turn first
}

// guest is one owner in a house.
type guest struct {
	env     lock.Env
	options *lock.Options
	house   *house
}

func (g *guest) TryLock(ctx context.Context) (bool, error) {
	h := g.house
	if h.token != "" {
		return true, nil
	}
	token := g.options.Token()
	asked := time.Now()
	granted, err := g.env.Nodes[0].SetNX(ctx, g.env.Key, token, g.env.TTL).Result()
	if granted {
		h.token, h.asked, h.passed = token, asked, 0
	}
	return granted, err
}

func (g *guest) Lock(ctx context.Context) error {
	h := g.house
	h.waiting.Add(1)
	h.turn <- struct{}{}
	h.waiting.Add(-1)
	if h.yields {
		h.yields = false
		if err := lock.Sleep(ctx, g.env.TTL/100); err != nil {
			return err
		}
	}
	return lock.Poll(ctx, g.env.Key, g.options, g.TryLock)
}

func (g *guest) Unlock(ctx context.Context) error {
	h := g.house
	defer func() { <-h.turn }()
	h.passed++
	old := h.passed > h.most || time.Since(h.asked) >= h.within
	if h.waiting.Load() > 0 && !old {
		return nil
	}
	h.token, h.yields = "", true
	return g.env.Nodes[0].Del(ctx, g.env.Key).Err()
}
