package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/proxy"
)

// fake is an environment that has processes only, and writes down what is done to them.
type fake struct {
	done    []string
	stopped map[int]bool
	servers int
	admin   *redis.Client
}

func (w *fake) Workers() int { return 4 }

func (w *fake) Stop(n int) error {
	w.stopped[n] = true
	w.done = append(w.done, fmt.Sprint("stop ", n))
	return nil
}

func (w *fake) Continue(n int) error {
	delete(w.stopped, n)
	w.done = append(w.done, fmt.Sprint("continue ", n))
	return nil
}

func (w *fake) Replace(n int) error {
	w.done = append(w.done, fmt.Sprint("replace ", n))
	return nil
}

func (w *fake) Servers() int                             { return w.servers }
func (w *fake) Admin(int) *redis.Client                  { return w.admin }
func (w *fake) Restart(context.Context, int, bool) error { return nil }
func (w *fake) Proxy(int, int) *proxy.Proxy              { return nil }

// nemesisOf disturbs a world for a minute, with these faults.
func nemesisOf(t *testing.T, w *fake, seed uint64, faults string) (
	n *nemesis, written []Event) {
	selected, err := selectFaults(faults)
	require.NoError(t, err)
	var writing sync.Mutex
	n = &nemesis{World: w, Seed: seed, TTL: time.Second, Faults: selected,
		Write: func(e Event) {
			writing.Lock()
			defer writing.Unlock()
			written = append(written, e)
		}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, n.Run(ctx))
	return n, written
}

// disturb runs faults of processes.
func disturb(t *testing.T, seed uint64) (done []string, written []Event) {
	synctest.Test(t, func(t *testing.T) {
		w := &fake{stopped: map[int]bool{}}
		n, all := nemesisOf(t, w, seed, "stop,kill")
		assert.Empty(t, w.stopped, "all go on")
		assert.Equal(t, n.Count(), count(w.done, "continue")+
			count(w.done, "replace"))
		done, written = w.done, all
	})
	return done, written
}

func count(done []string, what string) (n int) {
	for _, d := range done {
		if strings.HasPrefix(d, what) {
			n++
		}
	}
	return n
}

func TestTheSameSeedDrawsTheSameFaults(t *testing.T) {
	first, written := disturb(t, 7)
	again, _ := disturb(t, 7)
	other, _ := disturb(t, 8)
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, other)
	assert.Greater(t, len(first), 20)
	assert.True(t, slices.ContainsFunc(written, func(e Event) bool {
		return e.Kind == Stop
	}))
}

// answers is a server that does with a command whatever the function says.
type answers func(redis.Cmder) error

func (answers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (answers) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a answers) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.SetErr(a(cmd))
		return cmd.Err()
	}
}

// withServer is an environment with one server.
func withServer(t *testing.T, does answers) *fake {
	admin := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	admin.AddHook(does)
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	return &fake{stopped: map[int]bool{}, servers: 1, admin: admin}
}

// One fault that can't be made ends all lanes: nobody waits for the end of a long soak
// to hear of it.
func TestAFaultThatFailsEndsTheNemesis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withServer(t, func(redis.Cmder) error { return errors.New("it is broken") })
		faults, err := selectFaults("stop,script-flush")
		require.NoError(t, err)
		n := &nemesis{World: w, Seed: 7, TTL: time.Second, Faults: faults,
			Write: func(Event) {}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		require.ErrorContains(t, n.Run(ctx), "fault script-flush: it is broken")
		assert.Less(t, time.Since(began), time.Minute)
		assert.Empty(t, w.stopped, "all go on")
	})
}

func TestACommandIsSentAgainToAServerThatLoadsItsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, done := 0, 0
		nemesisOf(t, withServer(t, func(redis.Cmder) error {
			if refused <= done {
				refused++
				return errors.New("LOADING Redis is loading the dataset in memory")
			}
			done++
			return nil
		}), 7, "script-flush")
		assert.Greater(t, done, 3)
		assert.Equal(t, done, refused)
	})
}
