package exercises_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/exercise"
	"github.com/lockladder/lockladder/lock"
)

// Exercise 13 asks for two bounds, and either of them alone is refused. Both
// together, as its hints tell, are enough.
func TestAHandOverIsBoundedByANumberAndByTheLease(t *testing.T) {
	e, err := exercise.Find("13")
	require.NoError(t, err)
	const unbounded = 1000
	for _, test := range []struct {
		name    string
		most    int // hand-overs of one grant
		thirds  int // of a lease, in which it is passed on
		refused string
	}{
		{"both", 16, 1, ""},
		{"a number alone", 16, unbounded, "sections of 1s"},
		{"the lease alone", unbounded, 1, "sections of 10ms"},
		{"neither", unbounded, unbounded, "sections of 10ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var houses sync.Map // of *house, by the process's rdb
			build := func(env lock.Env) (lock.Lock, error) {
				options, err := lock.Configure(env.Nodes, env.Key, env.TTL,
					env.Options)
				at, _ := houses.LoadOrStore(env.Nodes[0], &house{
					most: test.most, within: env.TTL / 3 *
						time.Duration(test.thirds),
				})
				return &guest{env: env, options: options, rdb: env.Nodes[0],
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

// house is a process whose owners pass a grant on, as the hints of exercise 13
// tell.
type house struct {
	most   int
	within time.Duration

	mutex   sync.Mutex
	waiting []chan struct{}
	taken   bool

	// These belong to who has the turn.
	token  string // of the grant, "" when the server has to be asked
	asked  time.Time
	passed int
	yields bool // another process has its turn first
}

// guest is one owner in a house.
type guest struct {
	env     lock.Env
	options *lock.Options
	rdb     redis.UniversalClient
	house   *house
}

func (g *guest) TryLock(ctx context.Context) (bool, error) {
	h := g.house
	if h.token != "" {
		return true, nil
	}
	token := g.options.Token()
	asked := time.Now()
	granted, err := g.rdb.SetNX(ctx, g.env.Key, token, g.env.TTL).Result()
	if granted {
		h.token, h.asked, h.passed = token, asked, 0
	}
	return granted, err
}

func (g *guest) Lock(ctx context.Context) error {
	h := g.house
	h.mutex.Lock()
	turn := make(chan struct{})
	if h.taken {
		h.waiting = append(h.waiting, turn)
	} else {
		close(turn)
	}
	h.taken = true
	h.mutex.Unlock()
	<-turn
	if h.yields {
		h.yields = false
		if err := lock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return lock.Poll(ctx, g.env.Key, g.options, g.TryLock)
}

func (g *guest) Unlock(ctx context.Context) error {
	h := g.house
	h.mutex.Lock()
	alone := len(h.waiting) == 0
	h.mutex.Unlock()
	h.passed++
	old := h.passed > h.most || time.Since(h.asked) >= h.within
	var err error
	if alone || old {
		h.token, h.yields = "", true
		err = g.rdb.Del(ctx, g.env.Key).Err()
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.waiting) == 0 {
		h.taken = false
		return err
	}
	close(h.waiting[0])
	h.waiting = h.waiting[1:]
	return err
}
