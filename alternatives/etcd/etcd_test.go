package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/etcd"
	"github.com/lockladder/lockladder/scenarios"
)

func TestAnUnreachableServerIsOneLine(t *testing.T) {
	_, err := etcd.Open(t.Context(), "127.0.0.1:1")
	assert.ErrorContains(t, err, "the etcd server at 127.0.0.1:1 can't be reached")
	assert.ErrorContains(t, err, "refused")
	assert.NotContains(t, err.Error(), "\n")
}

func TestEveryGrantHasARisingToken(t *testing.T) {
	server := start(t)
	client, err := etcd.Open(t.Context(), server.Addr())
	require.NoError(t, err)
	defer client.Close()
	ctx := context.Background()
	var tokens []uint64
	for range 3 {
		l, err := etcd.New(client, "stock", 10*time.Second)
		require.NoError(t, err)
		assert.ErrorIs(t, l.Unlock(ctx), scenarios.ErrNotHeld)
		granted, err := l.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, granted)
		tokens = append(tokens, l.Token())
		require.NoError(t, l.Unlock(ctx))
		require.NoError(t, l.Close())
	}
	assert.IsIncreasing(t, tokens)
}

func TestBadInputGetsOneLine(t *testing.T) {
	_, err := etcd.New(nil, "stock", time.Second)
	assert.ErrorIs(t, err, scenarios.ErrInvalid)
}
