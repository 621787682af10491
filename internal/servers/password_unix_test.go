//go:build unix

package servers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// Another program on this machine can neither use a server nor find out its
// password, and a client that has strayed to a server of another run is refused there.
func TestARedisServerHasAPasswordThatOthersCanNotRead(t *testing.T) {
	servers.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx := t.Context()
	r, err := servers.StartRedis(ctx)
	require.NoError(t, err)
	defer r.Stop()
	_, password := r.Auth()
	assert.GreaterOrEqual(t, len(password), 20)
	for given, answer := range map[string]string{"": "NOAUTH", "wrong": "WRONGPASS"} {
		rdb := redis.NewClient(&redis.Options{Addr: r.Addr(), Password: given,
			Protocol: 2, DisableIdentity: true})
		assert.ErrorContains(t, rdb.Ping(ctx).Err(), answer)
		assert.NoError(t, rdb.Close())
	}

	processes, err := exec.Command("ps", "-A", "-ww", "-o", "args=").Output()
	require.NoError(t, err)
	require.Contains(t, string(processes), os.TempDir(), "it looks at nothing")
	assert.NotContains(t, string(processes), password)
	configs, err := filepath.Glob(filepath.Join(os.TempDir(), "lockladder-*/redis.conf"))
	require.NoError(t, err)
	require.Len(t, configs, 1)
	assert.Contains(t, readFile(t, configs[0]), password)
	dir, err := os.Stat(filepath.Dir(configs[0]))
	require.NoError(t, err)
	assert.Zero(t, dir.Mode()&0o077, "others can look into it")

	temp := t.TempDir()
	other := child(t, "Redis", temp)
	configs, err = filepath.Glob(filepath.Join(temp, "lockladder-*/redis.conf"))
	require.NoError(t, err)
	require.Len(t, configs, 1)
	assert.Contains(t, readFile(t, configs[0]), "requirepass ")
	assert.NotContains(t, readFile(t, configs[0]), password, "each run has another")
	kill(t, other)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
