package cohort_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// real starts a Redis server. Where none is installed the test is skipped, unless
// servers were asked for.
func real(t *testing.T) *servers.Redis {
	server, err := servers.StartRedis(t.Context())
	if errors.Is(err, servers.ErrMissing) && os.Getenv("LOCKLADDER_REDIS") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	return server
}

// documented is what doc.go says that a user of the lock "stock" needs.
func documented(t *testing.T) []any {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?s)\tACL SETUSER worker (.*?)\n//\n`).
		FindSubmatch(text)
	require.NotNil(t, found, "doc.go has an ACL SETUSER")
	rules := []any{"ACL", "SETUSER", "worker"}
	for _, rule := range strings.Fields(strings.ReplaceAll(string(found[1]),
		"//", "")) {
		if rule != `\` {
			rules = append(rules, rule)
		}
	}
	return rules
}

// login makes a client that logs in as the user.
func login(t *testing.T, server *servers.Redis) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(),
		Username: "worker", Password: "secret", ReadTimeout: 10 * second})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

// Two processes take the lock in turn, enter it again, renew it and give up
// waiting. The server's log of what it has denied stays empty.
func TestTheDocumentedRightsAreEnough(t *testing.T) {
	server := real(t)
	admin := server.Client()
	defer admin.Close()
	ctx := t.Context()
	require.NoError(t, admin.Do(ctx, documented(t)...).Err())
	contend(t, admin, login(t, server), login(t, server))
	assert.Equal(t, []any{}, admin.Do(ctx, "ACL", "LOG").Val(), "denied")
}

// A user without the channel hears of no turn, and its messages are not sent. It
// gets the lock, later, and it releases it.
func TestAUserWithoutTheChannelCanReleaseTheLock(t *testing.T) {
	server := real(t)
	admin := server.Client()
	defer admin.Close()
	ctx := t.Context()
	require.NoError(t, admin.Do(ctx, append(documented(t),
		"resetchannels")...).Err())
	contend(t, admin, login(t, server), login(t, server))
	denied := admin.Do(ctx, "ACL", "LOG").Val().([]any)
	require.NotEmpty(t, denied)
	for _, entry := range denied {
		assert.Contains(t, entry, "{stock}:turn")
	}
}

// contend lets the owners of two processes use the lock.
func contend(t *testing.T, admin *redis.Client, clients ...*redis.Client) {
	ctx, lease := t.Context(), 600*milli
	var owners []cohort.Fenced
	for _, rdb := range append(clients, clients...) {
		l, err := cohort.NewFenced(rdb, key, lease)
		require.NoError(t, err)
		owners = append(owners, l)
	}
	// The first one holds the lock until the others have waited for it: one has
	// given up, and then the lease is renewed. Waiting is over when they say so.
	require.NoError(t, owners[0].Lock(ctx))
	short, cancel := context.WithTimeout(ctx, lease*2/3)
	defer cancel()
	assert.ErrorIs(t, owners[1].Lock(short), context.DeadlineExceeded)
	assert.NoError(t, owners[0].Lock(ctx))
	assert.NoError(t, owners[0].Unlock(ctx))

	// The other process stands in the queue, and this one has nobody else: its
	// release tells whose turn it is.
	done := make(chan error)
	go func() { done <- errors.Join(owners[1].Lock(ctx), owners[1].Unlock(ctx)) }()
	require.Eventually(t, func() bool {
		return admin.ZCard(ctx, "{"+key+"}:queue").Val() == 1
	}, 10*second, milli)
	assert.NoError(t, owners[0].Unlock(ctx))
	assert.NoError(t, <-done)

	// Now each process has two owners: they ask for leases of their own.
	require.NoError(t, owners[0].Lock(ctx))
	for _, l := range owners[1:] {
		go func() {
			for range 20 {
				if err := errors.Join(l.Lock(ctx), l.Unlock(ctx)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	assert.NoError(t, owners[0].Unlock(ctx))
	for range owners[1:] {
		assert.NoError(t, <-done)
	}
}
