package fair_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/reentrant/fair"
)

const lease = 600 * time.Millisecond

// used lets two owners take the lock, enter it again, renew it, give up waiting
// and hand it over. It returns what the holder's Unlock says.
func used(t *testing.T, rdb *redis.Client) error {
	ctx := t.Context()
	a, err := fair.New(rdb, "stock", lease)
	require.NoError(t, err)
	b, err := fair.New(rdb, "stock", lease)
	require.NoError(t, err)
	require.NoError(t, a.Lock(ctx))
	short, cancel := context.WithTimeout(ctx, lease*2/3) // a renewal's time
	defer cancel()
	assert.ErrorIs(t, b.Lock(short), context.DeadlineExceeded)
	assert.NoError(t, a.Lock(ctx))
	assert.NoError(t, a.Unlock(ctx))
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	released := a.Unlock(ctx)
	assert.NoError(t, <-granted)
	b.Unlock(ctx)
	return released
}

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	admin, login := serverstest.Rights(t)
	assert.NoError(t, used(t, login()))
	serverstest.AllowsAll(t, admin)
}

// Its waiters are told nothing, and ask when a lease should have ended.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	admin, login := serverstest.Rights(t, "resetchannels")
	assert.NoError(t, used(t, login()))
	assert.Zero(t, admin.Exists(t.Context(), "stock").Val())
	serverstest.DeniesOnly(t, admin, "{stock}:turn")
}
