package locktest

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// DocumentedRights is a Redis server with a user that has the rights which the doc.go of the
// test's package asks for, changed by more rules. Each login is a client of that
// user. See servers.Need.
func DocumentedRights(t *testing.T, more ...any) (admin *redis.Client,
	login func() *redis.Client) {
	servers.Need(t)
	server, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	admin = server.Client()
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?s)\tACL SETUSER worker (.*?)\n//\n`).
		FindSubmatch(text)
	require.NotNil(t, found, "doc.go has an ACL SETUSER")
	rules := []any{"ACL", "SETUSER", "worker"}
	for _, rule := range strings.Fields(strings.ReplaceAll(string(found[1]), "//", "")) {
		if rule != `\` {
			rules = append(rules, rule)
		}
	}
	require.NoError(t, admin.Do(t.Context(), append(rules, more...)...).Err())
	return admin, func() *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(),
			Username: "worker", Password: "secret", ReadTimeout: 10 * time.Second})
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		return rdb
	}
}

// AllowsAll says that the server has denied nothing.
func AllowsAll(t *testing.T, admin *redis.Client) {
	t.Helper()
	assert.Equal(t, []any{}, admin.Do(t.Context(), "ACL", "LOG").Val(), "denied")
}

// DeniesOnly says that the server has denied something, and nothing but what has a
// name that begins like that.
func DeniesOnly(t *testing.T, admin *redis.Client, name string) {
	t.Helper()
	denied := admin.Do(t.Context(), "ACL", "LOG").Val().([]any)
	assert.NotEmpty(t, denied)
	for _, entry := range denied {
		fields := entry.([]any)
		object := fields[slices.Index(fields, "object")+1]
		assert.True(t, strings.HasPrefix(object.(string), name), "%v", entry)
	}
}

// RightsAreEnough says that the documented rights are enough for a lock with waiters.
func RightsAreEnough(t *testing.T, build lock.Build) {
	admin, login := DocumentedRights(t)
	assert.NoError(t, uses(t, build, login(), login()))
	AllowsAll(t, admin)
}

// WithoutTheChannel uses the lock without a right to its channels, whose names begin
// like that, and returns what the holder's Unlock says. Then the lock is free.
func WithoutTheChannel(t *testing.T, build lock.Build, name string) error {
	admin, login := DocumentedRights(t, "resetchannels")
	err := uses(t, build, login(), login())
	assert.Zero(t, admin.Exists(t.Context(), "stock").Val())
	DeniesOnly(t, admin, name)
	return err
}

// WaitsWithoutTheChannel has a user without a right to the lock's channels wait, while
// another user holds the lock, and returns what its Lock says.
func WaitsWithoutTheChannel(t *testing.T, build lock.Build) error {
	const lease = 300 * time.Millisecond
	admin, login := DocumentedRights(t, "resetchannels")
	of := func(rdb *redis.Client) lock.Lock {
		l, err := build(lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
			TTL: lease})
		require.NoError(t, err)
		return l
	}
	holder, waiter := of(admin), of(login())
	ctx, cancel := context.WithTimeout(t.Context(), 30*lease)
	defer cancel()
	require.NoError(t, holder.Lock(ctx))
	err := waiter.Lock(ctx)
	assert.NoError(t, holder.Unlock(ctx))
	return err
}

// uses lets the owners of two processes take the lock, enter it again if they can, renew it, give up
// waiting, read if it can be read, and hand it over. It returns what the holder's last
// calls say.
func uses(t *testing.T, build lock.Build, clients ...*redis.Client) error {
	const lease = 600 * time.Millisecond
	ctx := t.Context()
	var owners []lock.Lock
	for _, rdb := range clients {
		l, err := build(lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
			TTL: lease})
		require.NoError(t, err)
		owners = append(owners, l)
	}
	a, b := owners[0], owners[1]
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
