//go:build unix

package scenarios_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// mark is an argument of all processes of a run that a test here starts: they
// are found by it.
var mark = flag.String("mark", "", "set by the tests of what a run leaves behind")

// ending is how such a run ends.
const ending = "LOCKLADDER_ENDING"

// TestARunOfOneScenario is the run: bronze, whose keys never expire, in a
// scenario with a worker process.
func TestARunOfOneScenario(t *testing.T) {
	if *mark == "" {
		t.Skip("it is run by the tests of what a run leaves behind")
	}
	scenarios.Work(t, wrong.Rung("bronze"))
	build := func(env scenarios.Env) (scenarios.Lock, error) {
		if !strings.Contains(env.Key, "warm") {
			fmt.Println("the scenario has run")
			if os.Getenv(ending) == "it panics" {
				time.AfterFunc(4*time.Second, func() { panic("on purpose") })
			}
		}
		return wrong.Rung("bronze")(env)
	}
	scenario, flaws := "crash_holding", lock.Flaws("crash_holding: orphaned")
	if strings.HasPrefix(os.Getenv(ending), "kill -9 while") {
		scenario, flaws = "paused_holder", nil
	}
	if os.Getenv(ending) == "it fails" {
		flaws = nil
	}
	scenarios.Run(t, build, scenarios.Only(scenario), scenarios.Flaws(flaws...),
		scenarios.WithoutFeatures(scenarios.Renewal),
		scenarios.RealLease(time.Second),
		scenarios.OnServersOf(servers.Asked(t, *onRedis)))
}

// begin starts such a run and waits until its scenario has begun.
func begin(t *testing.T, end, on, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestARunOfOneScenario$",
		"-mark="+temp)
	cmd.Env = append(os.Environ(), ending+"="+end, "TMPDIR="+temp,
		servers.Variable+"="+on)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "the scenario has run" {
	}
	go func() { // ends with the run
		for lines.Scan() {
		}
	}()
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

// endings are the names of the ways in which it ends, and the signals that end it.
var endings = map[string]syscall.Signal{
	"it succeeds": 0, "it fails": 0, "it panics": 0, "Ctrl-C": syscall.SIGINT,
	"kill -9": syscall.SIGKILL, "kill -9 while a worker is stopped": syscall.SIGKILL,
}

// end lets the run end.
func end(t *testing.T, cmd *exec.Cmd, name, temp string) {
	t.Helper()
	if strings.HasSuffix(name, "stopped") {
		require.Eventually(t, func() bool {
			for _, p := range processes(t, temp) {
				if strings.HasPrefix(p, "T") {
					return true
				}
			}
			return false
		}, time.Minute, 10*time.Millisecond, "no worker was ever stopped")
	}
	if endings[name] != 0 {
		require.NoError(t, cmd.Process.Signal(endings[name]))
	}
	assert.Equal(t, name != "it succeeds", cmd.Wait() != nil)
}

// Of somebody's server only the run's own keys are touched, and they are gone
// afterwards, as are the worker and what watches over the keys. That servers of a run's
// own end with it is a test of package servers.
func TestARunLeavesNothingBehindOnSomebodysServer(t *testing.T) {
	own(t)
	for name := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r, err := servers.StartRedis(ctx)
			require.NoError(t, err)
			defer r.Stop()
			open := r.Client()
			defer open.Close()
			require.NoError(t, open.ConfigSet(ctx, "requirepass", "s3cret").Err())
			rdb := redis.NewClient(&redis.Options{Addr: r.Addr(),
				Password: "s3cret"})
			defer rdb.Close()
			theirs := map[string]string{"stock": "100",
				"lockladder:of somebody":             "1",
				"lockladder:0badcafe:00000000:stock": "of another run"}
			for key, value := range theirs {
				require.NoError(t, rdb.Set(ctx, key, value, 0).Err())
			}

			temp := t.TempDir()
			cmd := begin(t, name, "redis://:s3cret@"+r.Addr(), temp)
			require.NotEmpty(t, processes(t, temp), "the test looks at nothing")
			assert.Eventually(t, func() bool {
				return rdb.DBSize(ctx).Val() > int64(len(theirs))
			}, time.Minute, time.Millisecond, "the scenario set no key")
			for _, p := range processes(t, temp) {
				assert.NotContains(t, p, "s3cret")
			}
			end(t, cmd, name, temp)
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
