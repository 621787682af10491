package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake is an environment of processes, and writes down what is done to them. Its one
// server can't be reached.
type fake struct {
	environment // nothing else is asked for
	done        []string
	stopped     map[int]bool
	admin       *redis.Client
}

func (w *fake) Workers() int            { return 4 }
func (w *fake) Servers() int            { return 1 }
func (w *fake) Admin(int) *redis.Client { return w.admin }

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

// disturb disturbs a fake for a minute, with these faults. All of its processes go on after that.
func disturb(t *testing.T, seed uint64, faults string) (n *nemesis, done []string, err error) {
	t.Helper()
	selected, err := selectFaults(faults)
	require.NoError(t, err)
	w := &fake{stopped: map[int]bool{},
		admin: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})}
	defer w.admin.Close()
	n = &nemesis{World: w, Seed: seed, TTL: time.Second, Faults: selected, Write: func(e Event) {
		if e.Kind == Stop {
			w.done = append(w.done, fmt.Sprint("written: stop ", e.Worker))
		}
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = n.Run(ctx)
	assert.Equal(t, err == nil, ctx.Err() != nil, "it lasts for a minute, or fails")
	assert.Empty(t, w.stopped, "all go on")
	return n, w.done, err
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
	processes := func(seed uint64) (done []string) {
		synctest.Test(t, func(t *testing.T) {
			n, all, err := disturb(t, seed, "stop,kill")
			require.NoError(t, err)
			assert.Equal(t, n.Count(), count(all, "continue")+count(all, "replace"))
			assert.Equal(t, count(all, "stop"), count(all, "written: stop"))
			done = all
		})
		return done
	}
	first := processes(7)
	assert.Equal(t, first, processes(7))
	assert.NotEqual(t, first, processes(8))
	assert.Greater(t, len(first), 20)
}

// One fault that can't be made ends all lanes: nobody waits for the end of a long soak
// to hear of it. Here the server can't be reached.
func TestAFaultThatFailsEndsTheNemesis(t *testing.T) {
	_, _, err := disturb(t, 7, "stop,script-flush")
	require.ErrorContains(t, err, "fault script-flush: dial tcp 127.0.0.1:1: ")
}
