//go:build unix

package servers_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

// Another program on this machine can neither use a server nor find out its
// password.
func TestEveryRedisServerHasAPasswordThatOthersCanNotRead(t *testing.T) {
	serverstest.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx := t.Context()
	plain, err := servers.StartRedis(ctx)
	require.NoError(t, err)
	defer plain.Stop()
	cluster, err := servers.StartCluster(ctx, 2)
	require.NoError(t, err)
	defer cluster.Stop()
	watched, err := servers.StartSentinel(ctx)
	require.NoError(t, err)
	defer watched.Stop()
	sentinel := redis.NewSentinelClient(&redis.Options{
		Addr: watched.Sentinels()[0], Password: password(watched)})
	defer sentinel.Close()
	replicas, err := sentinel.Replicas(ctx, watched.MasterName()).Result()
	require.NoError(t, err)
	require.Len(t, replicas, 1)

	for name, server := range map[string]struct{ addr, password string }{
		"a server":   {plain.Addr(), password(plain)},
		"a master":   {cluster.Masters()[1], password(cluster)},
		"a watched":  {watched.Addr(), password(watched)},
		"a replica":  {replicas[0]["name"], password(watched)},
		"a Sentinel": {watched.Sentinels()[0], password(watched)},
	} {
		assert.GreaterOrEqual(t, len(server.password), 20, name)
		for _, c := range []struct{ password, answer string }{
			{"", "NOAUTH"}, {"wrong", "WRONGPASS"}, {server.password, ""}} {
			rdb := redis.NewClient(&redis.Options{Addr: server.addr,
				Password: c.password, Protocol: 2, DisableIdentity: true})
			err := rdb.Ping(ctx).Err()
			rdb.Close()
			if c.answer == "" {
				assert.NoError(t, err, name)
			} else {
				assert.ErrorContains(t, err, c.answer, name)
			}
		}
	}

	processes, err := exec.Command("ps", "-A", "-ww", "-o", "args=").Output()
	require.NoError(t, err)
	require.Contains(t, string(processes), os.TempDir(), "it looks at nothing")
	assert.NotContains(t, string(processes), password(plain))
	written := 0
	require.NoError(t, filepath.WalkDir(os.TempDir(), func(path string,
		d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), password(plain)) {
			return err
		}
		written++
		dir, err := os.Stat(filepath.Dir(path))
		if err == nil {
			assert.Zero(t, dir.Mode()&0o077, "others can look into %s", path)
		}
		return err
	}))
	assert.NotZero(t, written, "it looks at no file")
}

func password(s interface {
	Auth() (user, password string)
}) string {
	_, password := s.Auth()
	return password
}

// A client that has strayed to a server of another run is refused there.
func TestEachRunHasAnotherPassword(t *testing.T) {
	r := startRedis(t)
	temp := t.TempDir()
	other := child(t, "Redis", "waits", temp)
	server(t, other)
	files, err := filepath.Glob(filepath.Join(temp, "lockladder-*/redis.conf"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), "requirepass ")
	assert.NotContains(t, string(text), password(r))
	kill(t, other)
	nothingLeft(t, temp)
}
