package serverstest

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// Rights is a Redis server with a user that has the rights which the doc.go of the
// test's package asks for, changed by more rules. Each login is a client of that
// user. See Need.
func Rights(t *testing.T, more ...any) (admin *redis.Client,
	login func() *redis.Client) {
	Need(t)
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

// DeniesOnly says that the server has denied something, and nothing but that.
func DeniesOnly(t *testing.T, admin *redis.Client, what string) {
	t.Helper()
	denied := admin.Do(t.Context(), "ACL", "LOG").Val().([]any)
	assert.NotEmpty(t, denied)
	for _, entry := range denied {
		assert.Contains(t, entry, what)
	}
}
