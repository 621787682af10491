package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const milli = time.Millisecond

// [interview]'s example: the longest operation took 127 ms.
func ExampleLeaseFor() {
	fmt.Println(LeaseFor(127*time.Millisecond, 5*time.Millisecond))
	fmt.Println(LeaseFor(127*time.Millisecond, time.Millisecond)) // 127 times

	// Output:
	// 158ms
	// 153ms
}

func TestALeaseIsTheWorkAndTheLatencyWithAMargin(t *testing.T) {
	for _, c := range []struct {
		name                string
		work, latency, want time.Duration
	}{
		{"both count", 100 * milli, 10 * milli, 131 * milli},
		{"both count just before a hundred times", 99 * milli, milli, 120 * milli},
		{"the work alone at a hundred times", 100 * milli, milli, 120 * milli},
		{"the latency alone", milli, 200 * milli, 220 * milli},
		{"rounded up", 1001 * time.Microsecond, 0, 2 * milli},
		{"Redis counts milliseconds", time.Microsecond, time.Microsecond, milli},
		{"nothing was measured", 0, 0, milli},
	} {
		assert.Equal(t, c.want, LeaseFor(c.work, c.latency), c.name)
	}
}
