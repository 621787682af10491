package order_test

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab/order"
)

// Twice as many threads compute as there are processors, so that one always waits.
func TestAMachineWithTooFewProcessorsIsSlow(t *testing.T) {
	if _, err := os.ReadFile("/proc/pressure/cpu"); err != nil {
		t.Skip("this system doesn't say whether its processes wait for a processor")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2*runtime.NumCPU() + 1))
	var over atomic.Bool
	var busy sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		busy.Go(func() {
			for !over.Load() {
			}
		})
	}
	r := order.NewReal(time.Minute)
	assert.NoError(t, r.Run(t, func() error {
		assert.Eventually(t, func() bool { return r.Slow(time.Second) },
			10*time.Second, 10*time.Millisecond)
		return nil
	}))
	over.Store(true)
	busy.Wait()
}
