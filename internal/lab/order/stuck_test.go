package order_test

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
)

const key = "stock"

var aWorld = lab.Config{Nodes: 1, Key: key, TTL: 10 * time.Second}

// oneCommand is a scenario of a single command.
func oneCommand(w *lab.World) {
	a := w.Client("A")
	rdb := a.Env(key).Nodes[0]
	w.Record()
	a.Go(func() { rdb.Set(w.Context(), key, "a", 0) })
	w.Play()
}

// Other goroutines use the only processor, a millisecond each, and the world
// needs dozens of turns for one command. It is watched as if it had to send one
// in two milliseconds.
func TestAWorldThatGetsNoProcessorIsNotStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a processor busy")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer order.Watch(time.Millisecond, 2*time.Millisecond)()
	var over atomic.Bool
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for !over.Load() {
				for began := time.Now(); time.Since(began) < time.Millisecond; {
				}
				runtime.Gosched()
			}
		})
	}
	err := lab.Run(t, aWorld, oneCommand)
	over.Store(true)
	others.Wait()
	assert.NoError(t, err)
}

// gone waits for the end of the worlds that were given up: they are tests of
// package testing as well, and write down that they ran.
func gone(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		return !bytes.Contains(all, []byte("testing/synctest."))
	}, 10*time.Second, time.Millisecond)
}

func TestAWorldThatWaitsForTheWorldOutsideIsStuck(t *testing.T) {
	defer order.Watch(10*time.Millisecond, 100*time.Millisecond)()
	outside, ended := make(chan struct{}), make(chan struct{})
	err := lab.Run(t, aWorld, func(w *lab.World) {
		defer close(ended)
		a := w.Client("A")
		a.Go(func() { <-outside })
		w.Play()
	})
	close(outside)
	<-ended
	gone(t)
	require.ErrorIs(t, err, order.ErrStuck)
	assert.ErrorContains(t, err, "outside of the scenario")
}
