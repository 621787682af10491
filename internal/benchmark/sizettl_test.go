package benchmark

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark/nodes"
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
		name          string
		work, latency time.Duration
		want          time.Duration
	}{
		{"both count", 100 * milli, 10 * milli, 131 * milli},
		{"both count just before a hundred times", 99 * milli, milli, 120 * milli},
		{"the work alone at a hundred times", 100 * milli, milli, 120 * milli},
		{"the latency alone", milli, 200 * milli, 220 * milli},
		{"rounded up", 1001 * time.Microsecond, 0, 2 * milli},
		{"Redis counts milliseconds", time.Microsecond, time.Microsecond, milli},
		{"nothing was measured", 0, 0, milli},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, LeaseFor(c.work, c.latency))
		})
	}
}

func TestASpreadHasItsEndsAndItsMean(t *testing.T) {
	s := spread([]time.Duration{3 * milli, milli, 8 * milli})
	assert.Equal(t, milli, s.Shortest)
	assert.Equal(t, 4*milli, s.Mean)
	assert.Equal(t, 8*milli, s.Longest)
	assert.Equal(t, 1, s.over(3*milli))
}

func TestSizingMeasuresAServer(t *testing.T) {
	servers := nodes.Embed(1, nodes.Config{Clients: 1})
	defer servers.Close(context.Background())
	s, err := SizeTTL(context.Background(), servers, 50)
	require.NoError(t, err)
	assert.Len(t, s.Work.All, 50)
	assert.Len(t, s.Latency.All, 50)
	assert.Positive(t, s.Work.Shortest)
	assert.Positive(t, s.Latency.Shortest)
	assert.Equal(t, LeaseFor(s.Work.Longest, s.Latency.Mean), s.Lease())
	assert.Zero(t, s.Work.over(s.Lease()), "no section outlives the lease")

	_, err = SizeTTL(context.Background(), servers, 0)
	assert.ErrorContains(t, err, "at least")
}

func TestSizingEndsWithItsContext(t *testing.T) {
	servers := nodes.Embed(1, nodes.Config{Clients: 1})
	defer servers.Close(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := SizeTTL(ctx, servers, 50)
	assert.ErrorIs(t, err, context.Canceled)
}
