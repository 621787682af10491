package fair_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/reentrant/fair"
)

const lease = 600 * time.Millisecond

// rights is a Redis server with a user that has what doc.go asks for, and more
// rules. Where no server is installed the test is skipped, unless servers were
// asked for.
func rights(t *testing.T, more ...any) (admin, user *redis.Client) {
	server, err := servers.StartRedis(t.Context())
	if errors.Is(err, servers.ErrMissing) && os.Getenv("LOCKLADDER_REDIS") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	admin = server.Client()
	user = redis.NewClient(&redis.Options{Addr: server.Addr(),
		Username: "worker", Password: "secret", ReadTimeout: 10 * time.Second})
	t.Cleanup(func() {
		assert.NoError(t, user.Close())
		assert.NoError(t, admin.Close())
	})
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?s)\tACL SETUSER worker (.*?)\n//\n`).
		FindSubmatch(text)
	require.NotNil(t, found, "doc.go has an ACL SETUSER")
	rules := []any{"ACL", "SETUSER", "worker"}
	for _, rule := range strings.Fields(string(found[1])) {
		if rule != `\` && rule != "//" {
			rules = append(rules, rule)
		}
	}
	require.NoError(t, admin.Do(t.Context(), append(rules, more...)...).Err())
	return admin, user
}

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
	admin, user := rights(t)
	assert.NoError(t, used(t, user))
	assert.Equal(t, []any{}, admin.Do(t.Context(), "ACL", "LOG").Val(), "denied")
}

// Its waiters are told nothing, and ask when a lease should have ended.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	admin, user := rights(t, "resetchannels")
	assert.NoError(t, used(t, user))
	assert.Zero(t, admin.Exists(t.Context(), "stock").Val())
	denied := admin.Do(t.Context(), "ACL", "LOG").Val().([]any)
	assert.NotEmpty(t, denied)
	for _, entry := range denied {
		assert.Contains(t, entry, "{stock}:turn")
	}
}
