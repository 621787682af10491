//go:build unix

package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// started is a server of any kind.
type started interface {
	PID() (int, error)
	Stop()
}

// kind is one kind of server: whether it is there, which variable asks for it,
// and how it is started.
type kind struct {
	missing error
	asked   string
	start   func(context.Context) (started, error)
}

var kinds = map[string]kind{
	"Redis": {servers.Installed(), "LOCKLADDER_REDIS",
		func(ctx context.Context) (started, error) {
			return servers.StartRedis(ctx)
		}},
	"MariaDB": {servers.HasMariaDB(), "LOCKLADDER_STORES",
		func(ctx context.Context) (started, error) {
			return servers.StartMariaDB(ctx)
		}},
	"ZooKeeper": {servers.HasZooKeeper(), "LOCKLADDER_STORES",
		func(ctx context.Context) (started, error) {
			return servers.StartZooKeeper(ctx, 100*time.Millisecond)
		}},
	"etcd": {servers.HasEtcd(), "LOCKLADDER_STORES",
		func(ctx context.Context) (started, error) {
			return servers.StartEtcd(ctx)
		}},
}

// need skips unless the server was asked for.
func (k kind) need(t *testing.T) {
	t.Helper()
	switch {
	case os.Getenv(k.asked) == "":
		t.Skipf("it starts servers, which is asked for with %s", k.asked)
	case k.missing != nil:
		t.Fatalf("%s asks for servers: %v", k.asked, k.missing)
	}
}

// The test process starts a server instead of testing when another one says so,
// in two variables: which kind, and how it ends then.
const (
	childKind = "LOCKLADDER_CHILD_KIND"
	childEnd  = "LOCKLADDER_CHILD"
)

func TestMain(m *testing.M) {
	end := os.Getenv(childEnd)
	if end == "" {
		os.Exit(m.Run())
	}
	s, err := kinds[os.Getenv(childKind)].start(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.PID())
	switch end {
	case "panics":
		panic("on purpose")
	case "waits":
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

// child is a process of its own that starts a server below temp.
func child(t *testing.T, name, end, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKind+"="+name, childEnd+"="+end,
		"TMPDIR="+temp)
	return cmd
}

// server starts a child and waits until its server answers.
func server(t *testing.T, cmd *exec.Cmd) (pid int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscanf(said, "%d <nil>", &pid)
	require.NoError(t, err, said)
	return pid
}

// kill ends a child as kill -9 does.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
}

// nothingLeft waits until no process works in a directory, and until it is empty.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	assert.Eventually(t, func() bool {
		out, err := exec.Command("ps", "-A", "-o", "args=").Output()
		return err == nil && !strings.Contains(string(out), temp)
	}, 20*time.Second, 20*time.Millisecond, "the server still runs")
	assert.Eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(temp, "*"))
		return len(left) == 0
	}, 20*time.Second, 20*time.Millisecond, "its directory is left")
}

func TestNoServerOutlivesTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			kind.need(t)
			for _, end := range []struct {
				name, child string
				signal      syscall.Signal
			}{
				{"it returns without a stop", "returns", 0},
				{"it panics", "panics", 0},
				{"Ctrl-C", "waits", syscall.SIGINT},
				{"kill -9", "waits", syscall.SIGKILL},
			} {
				t.Run(end.name, func(t *testing.T) {
					t.Parallel()
					temp := t.TempDir()
					cmd := child(t, name, end.child, temp)
					pid := server(t, cmd)
					if end.signal != 0 {
						require.NoError(t, syscall.Kill(pid, 0), "it runs")
						require.NoError(t, cmd.Process.Signal(end.signal))
					}
					cmd.Wait()
					nothingLeft(t, temp)
				})
			}
		})
	}
}

// MariaDB makes its data directory with a program that takes a while, and that
// starts others.
func TestNothingIsLeftWhenItEndsWhileAServerIsBeingMade(t *testing.T) {
	t.Parallel()
	kinds["MariaDB"].need(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd := child(t, "MariaDB", "waits", temp)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				begun, _ := filepath.Glob(filepath.Join(temp, "*/data/mysql"))
				return len(begun) > 0
			}, 20*time.Second, time.Millisecond, "it is being made")
			require.NoError(t, cmd.Process.Signal(signal))
			cmd.Wait()
			nothingLeft(t, temp)
		})
	}
}

func TestTheNextStartCleansUpWhenTheKeeperWasKilledToo(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			kind.need(t)
			t.Parallel()
			temp := t.TempDir()
			cmd := child(t, name, "waits", temp)
			pid := server(t, cmd)
			keeper, err := exec.Command("ps", "-o", "ppid=", "-p",
				fmt.Sprint(pid)).Output()
			require.NoError(t, err)
			require.NoError(t, exec.Command("kill", "-9",
				strings.TrimSpace(string(keeper))).Run())
			kill(t, cmd)
			require.NoError(t, syscall.Kill(pid, 0),
				"the server should be left over")

			next := child(t, name, "waits", temp)
			server(t, next)
			assert.Eventually(t, func() bool {
				return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			}, 10*time.Second, 10*time.Millisecond, "the server still runs")
			kill(t, next)
			nothingLeft(t, temp)
		})
	}
}
