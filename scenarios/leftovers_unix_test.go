//go:build unix

package scenarios_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

// mark is an argument of all processes of a run that a test here starts: they are found by it.
var mark = flag.String("mark", "", "set by the tests of what a run leaves behind")

// TestARunOfOneScenario is the run: bronze, whose keys never expire, in a scenario that
// stops a worker process.
func TestARunOfOneScenario(t *testing.T) {
	if *mark == "" {
		t.Skip("it is run by the test of what a run leaves behind")
	}
	bronze := wrong.Rung("bronze")
	scenarios.Work(t, bronze)
	scenarios.Run(t, bronze, scenarios.Only("paused_holder"),
		scenarios.WithoutFeatures(scenarios.Renewal), scenarios.RealLease(time.Second),
		scenarios.OnServersOf(servers.Asked(t, *onRedis)))
}

// begin starts such a run.
func begin(t *testing.T, on, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestARunOfOneScenario$", "-mark="+temp)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, servers.Variable+"="+on)
	require.NoError(t, cmd.Start())
	return cmd
}

// processes are those whose arguments contain a text, with their states.
func processes(t *testing.T, containing string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "stat=,args=").Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, containing) && !strings.HasPrefix(line, "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// killWhileStopped ends the run as kill -9 does, while its worker is stopped.
func killWhileStopped(t *testing.T, cmd *exec.Cmd, temp string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(processes(t, temp), func(p string) bool {
			return strings.HasPrefix(p, "T")
		})
	}, time.Minute, 10*time.Millisecond, "no worker was ever stopped")
	require.NoError(t, cmd.Process.Kill())
}

// Of somebody's server only the run's own keys are touched, and they are gone afterwards, as are
// the worker and what watches over the keys. That servers of a run's own end with it is a test of
// package servers, and that the rest is done however a process ends is one of package process.
func TestARunLeavesNothingBehindOnSomebodysServer(t *testing.T) {
	own(t)
	for name, killed := range map[string]bool{"it succeeds": false,
		"kill -9 while a worker is stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r, err := servers.StartRedis(ctx)
			require.NoError(t, err)
			defer r.Stop()
			open := r.Client()
			defer open.Close()
			require.NoError(t, open.ConfigSet(ctx, "requirepass", "s3cret").Err())
			rdb := redis.NewClient(&redis.Options{Addr: r.Addr(), Password: "s3cret"})
			defer rdb.Close()
			theirs := map[string]string{"stock": "100",
				"lockladder:of somebody":             "1",
				"lockladder:0badcafe:00000000:stock": "of another run"}
			for key, value := range theirs {
				require.NoError(t, rdb.Set(ctx, key, value, 0).Err())
			}

			temp := t.TempDir()
			cmd := begin(t, "redis://:s3cret@"+r.Addr(), temp)
			assert.Eventually(t, func() bool {
				return rdb.DBSize(ctx).Val() > int64(len(theirs))
			}, time.Minute, time.Millisecond, "the scenario set no key")
			for _, p := range processes(t, temp) {
				assert.NotContains(t, p, "s3cret")
			}
			if killed {
				killWhileStopped(t, cmd, temp)
			}
			assert.Equal(t, killed, cmd.Wait() != nil)
			assert.Eventually(t, func() bool {
				return len(processes(t, temp)) == 0
			}, time.Minute, 10*time.Millisecond, "a process is left")
			keys, err := rdb.Keys(ctx, "*").Result()
			require.NoError(t, err)
			assert.Len(t, keys, len(theirs), "%v", keys)
			for key, value := range theirs {
				assert.Equal(t, value, rdb.Get(ctx, key).Val())
			}
		})
	}
}
