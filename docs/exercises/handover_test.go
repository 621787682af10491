package exercises_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
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
	seconds := func(time.Duration) time.Duration { return 3 * time.Second }
	for _, test := range []struct {
		name    string
		most    int                                   // hand-overs of one grant
		within  func(ttl time.Duration) time.Duration // in which it is passed on
		refused string
	}{
		{"both", 16, third, ""},
		{"a number alone", 16, never, "sections of 1s"},
		{"the lease alone", unbounded, third, "sections of 10ms"},
		{"a number and three seconds", 16, seconds, "with a lease of 1.5s: sections of 150ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var houses sync.Map // by the process's rdb
			err := e.Check(t, func(env lock.Env) (lock.Lock, error) {
				l, err := locktest.Find(t, "reentrant/fair").Build(env)
				h, _ := houses.LoadOrStore(env.Nodes[0], &house{Lock: l, most: test.most,
					within: test.within(env.TTL), turn: make(chan struct{}, 1)})
				return owner{h.(*house)}, err
			}, nil)
			if test.refused == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.refused+": another process waited for")
		})
	}
}

// house is a process whose owners pass the lock of the rung fair on.
type house struct {
	lock.Lock
	most   int
	within time.Duration

	turn    chan struct{} // holds one element while an owner has the turn
	waiting atomic.Int32  // owners

	// These belong to the owner that has the turn.
	passed int // times since the server was asked, 0 when it has to be
	asked  time.Time
}

type owner struct{ *house }

func (o owner) Lock(ctx context.Context) error {
	o.waiting.Add(1)
	o.turn <- struct{}{}
	o.waiting.Add(-1)
	if o.passed > 0 {
		return nil
	}
	o.asked = time.Now()
	return o.house.Lock.Lock(ctx)
}

func (o owner) Unlock(ctx context.Context) error {
	defer func() { <-o.turn }()
	o.passed++
	if o.waiting.Load() > 0 && o.passed <= o.most && time.Since(o.asked) < o.within {
		return nil
	}
	o.passed = 0
	return o.house.Lock.Unlock(ctx)
}
