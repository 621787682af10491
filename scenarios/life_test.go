package scenarios_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/mutants"
	"github.com/lockladder/lockladder/scenarios"
)

// crashing is a life in which B crashes with the lock that A released.
var crashing = scenarios.Life{Runs: []scenarios.ClientRun{
	{Client: "A", At: 0, Work: 3 * time.Second},
	{Client: "B", At: time.Second, Work: 2 * time.Second, Crashes: true},
	{Client: "A", At: 6 * time.Second, Work: time.Second},
}}

func TestALifeIsRecorded(t *testing.T) {
	lived, err := crashing.Record(t, mutants.Rung("gold"))
	require.NoError(t, err)
	require.Len(t, lived.Runs, 3)
	first, crashed, second := lived.Runs[0], lived.Runs[1], lived.Runs[2]
	assert.Equal(t, []string{"A", "B", "A"}, []string{first.Client, crashed.Client,
		second.Client})
	assert.GreaterOrEqual(t, crashed.Granted, first.Left, "B waits for A")
	assert.Equal(t, 2*time.Second, crashed.Left-crashed.Granted, "B's work")
	assert.GreaterOrEqual(t, second.Granted, crashed.Granted+9*time.Second,
		"A waits for the end of B's lease")
	assert.Equal(t, "Unlock returns ok", lived.Entries[len(lived.Entries)-1].Text)
}

func TestALifeRecordsAWaitInVain(t *testing.T) {
	lived, err := crashing.Record(t, mutants.Rung("bronze"))
	require.NoError(t, err)
	last := lived.Runs[2]
	assert.Zero(t, last.Granted, "B's key has no lease")
	assert.Equal(t, scenarios.MaxWait, last.Left-last.Asked)
}

func TestALifeIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, err := crashing.Record(t, mutants.Rung("reentrant/notify"))
	require.NoError(t, err)
	for _, processors := range []int{2, 8} {
		runtime.GOMAXPROCS(processors)
		again, err := crashing.Record(t, mutants.Rung("reentrant/notify"))
		require.NoError(t, err)
		assert.Equal(t, first, again, "%d processors", processors)
	}
}

func TestALifeWithABrokenInvariantIsAnError(t *testing.T) {
	_, err := crashing.Record(t, mutants.With(mutants.Rung("gold"), func(
		ctx context.Context, _ scenarios.Env, gold scenarios.Lock) (bool, error) {
		_, err := gold.TryLock(ctx)
		return true, err // whoever comes is let in
	}))
	assert.ErrorContains(t, err, "two holders is broken on an ordinary day")
}

func TestALifeNeedsANodeThatStaysUp(t *testing.T) {
	l := crashing
	l.Down = 1
	_, err := l.Record(t, mutants.Rung("gold"))
	assert.EqualError(t, err, "1 of 1 nodes are to go down: one must stay up")
}
