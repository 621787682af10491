package ladder_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// The rungs' promises about the rights that their doc.go names, on a real server, see
// servers.Need.

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	those(t, onOneNode, func(t *testing.T, rung ladder.Rung) {
		admin, login := documentedRights(t, rung)
		assert.NoError(t, uses(t, rung, login(), login()))
		assert.Equal(t, []any{}, admin.Do(t.Context(), "ACL", "LOG").Val(), "denied")
	})
}

// Where the waiters stand in a queue they hear of no turn, and get the lock later.
// Elsewhere the holder gets an error. The lock is free.
func TestAUserWithoutTheChannelReleasesTheLock(t *testing.T) {
	those(t, listening, func(t *testing.T, rung ladder.Rung) {
		admin, login := documentedRights(t, rung, "resetchannels")
		err := uses(t, rung, login(), login())
		assert.Zero(t, admin.Exists(t.Context(), "stock").Val())
		if queuing(rung) {
			assert.NoError(t, err)
			deniesOnly(t, admin, "{stock}:turn")
			return
		}
		assert.Error(t, err)
		assert.NotErrorIs(t, err, lock.ErrNotHeld)
		deniesOnly(t, admin, "{stock}:released")
	})
}

// It would hear of no turn, and might wait forever while other processes are busy.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	those(t, queuing, func(t *testing.T, rung ladder.Rung) {
		const short = 300 * time.Millisecond
		admin, login := documentedRights(t, rung, "resetchannels")
		holder, waiter := owns(t, rung, admin, short), owns(t, rung, login(), short)
		ctx, cancel := context.WithTimeout(t.Context(), 30*short)
		defer cancel()
		require.NoError(t, holder.Lock(ctx))
		assert.ErrorContains(t, waiter.Lock(ctx), "NOPERM")
		assert.NoError(t, holder.Unlock(ctx))
	})
}

// documentedRights is a Redis server with a user that has the rights which the doc.go of a
// rung asks for, changed by more rules. Each login is a client of that user, through TLS.
func documentedRights(t *testing.T, rung ladder.Rung, more ...any) (admin *redis.Client,
	login func() *redis.Client) {
	servers.Need(t)
	server, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	admin = server.Client()
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	rights := locktest.Rights(t, root, rung, "stock")
	require.NotNil(t, rights, "doc.go has an ACL SETUSER")
	guarded, err := locktest.Guard(server, append(rights, more...))
	require.NoError(t, err)
	t.Cleanup(guarded.Close)
	user, password := guarded.Worker()
	return admin, func() *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: guarded.Addr(), TLSConfig: guarded.TLS(),
			Username: user, Password: password, ReadTimeout: 10 * time.Second})
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		return rdb
	}
}

// deniesOnly says that the server has denied something, and nothing but what has a
// name that begins like that.
func deniesOnly(t *testing.T, admin *redis.Client, name string) {
	t.Helper()
	denied := admin.Do(t.Context(), "ACL", "LOG").Val().([]any)
	assert.NotEmpty(t, denied)
	for _, entry := range denied {
		fields := entry.([]any)
		object := fields[slices.Index(fields, "object")+1]
		assert.True(t, strings.HasPrefix(object.(string), name), "%v", entry)
	}
}

// owns is an owner of the rung's lock, with fencing tokens where it can have some.
func owns(t *testing.T, rung ladder.Rung, rdb *redis.Client, lease time.Duration) lock.Lock {
	build := rung.Build
	if rung.Name == "reentrant/cohort" {
		build = lock.On(cohort.NewFenced)
	}
	l, err := build(lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock", TTL: lease})
	require.NoError(t, err)
	return l
}

// uses lets the owners of two processes take the lock, enter it again if they can, renew
// it, give up waiting, read if it can be read, and hand it over. It returns what the
// holder's last calls say.
func uses(t *testing.T, rung ladder.Rung, holder, waiter *redis.Client) error {
	const lease = 600 * time.Millisecond
	ctx := t.Context()
	a, b := owns(t, rung, holder, lease), owns(t, rung, waiter, lease)
	require.NoError(t, a.Lock(ctx))
	short, cancel := context.WithTimeout(ctx, lease*2/3) // a renewal's time
	defer cancel()
	assert.ErrorIs(t, b.Lock(short), context.DeadlineExceeded)
	if entered, _ := a.TryLock(ctx); entered {
		assert.NoError(t, a.Unlock(ctx))
	}
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	time.Sleep(lease / 4) // it stands in the queue, where there is one
	var downgraded error
	released := a.Unlock
	if reader, ok := a.(lock.ReadWrite); ok {
		assert.NoError(t, reader.RLock(ctx), "the writer may read")
		downgraded = a.Unlock(ctx)
		time.Sleep(lease / 2) // a renewal's time
		released = reader.RUnlock
	}
	err := errors.Join(downgraded, released(ctx))
	assert.NoError(t, <-granted)
	b.Unlock(ctx)
	return err
}
