package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func TestAProgramSellsAStockByItself(t *testing.T) {
	t.Parallel()
	env, server, p := found(t)
	require.NoError(t, server.Set("toys", "15"))
	sold, err := p.Sell(t.Context(), env, protocol.Workload{Stock: "toys", Owners: 10,
		Turns: 2, Poll: time.Millisecond})
	require.NoError(t, err)
	assert.Len(t, sold.Sections, 20)
	assert.Equal(t, int64(15), sold.Taken)
	assert.Zero(t, sold.LostUpdates)
	assert.Zero(t, sold.Failures, sold.Text)
	for _, s := range sold.Sections {
		assert.LessOrEqual(t, s[0], s[1], "asked, then in")
		assert.LessOrEqual(t, s[1], s[2], "in, then done")
	}
	left, err := server.Get("toys")
	require.NoError(t, err)
	assert.Equal(t, "0", left)
}

func TestAWorkloadCountsTheTurnsThatFail(t *testing.T) {
	t.Parallel()
	env, server, p := found(t)
	require.NoError(t, server.Set("toys", "some"))
	sold, err := p.Sell(t.Context(), env, protocol.Workload{Stock: "toys", Owners: 3,
		Turns: 2, Poll: time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, int64(6), sold.Failures)
	assert.Contains(t, sold.Text, `parsing "some"`)
	assert.Empty(t, sold.Sections)
}

func TestAWorkloadEndsWithItsContext(t *testing.T) {
	locktest.Long(t, "it waits for a deadline in real time")
	t.Parallel()
	env, server, p := found(t)
	server.HSet("stock", "somebody else", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := p.Sell(ctx, env, protocol.Workload{Stock: "toys", Owners: 1, Turns: 1,
		Poll: time.Millisecond})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, p.Err(), "the program has done nothing wrong")
}

func TestAWorkloadThatIsTooLargeForALineIsRefused(t *testing.T) {
	t.Parallel()
	env, _, p := found(t)
	_, err := p.Sell(t.Context(), env, protocol.Workload{Owners: protocol.MostSections,
		Turns: 2})
	assert.ErrorIs(t, err, lock.ErrInvalid)
}
