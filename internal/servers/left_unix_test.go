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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// forks is a server whose program starts another one, as that of a data directory does.
var forks = servers.Kind{Name: "forks",
	Command: func(s *servers.Server) ([]string, error) {
		return []string{"sh", "-c", "sh -c 'sleep 60; :' sh $0 & echo >$0/began; wait",
			s.Dir}, nil
	},
	Ready: func(_ context.Context, s *servers.Server) error {
		_, began := os.Stat(filepath.Join(s.Dir, "began"))
		_, err := s.PID()
		return errors.Join(began, err)
	}}

// childStarts says, in a variable, that the test process starts a server instead of testing,
// and waits to be killed.
const childStarts = "LOCKLADDER_CHILD"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childStarts) {
	case "":
		os.Exit(m.Run())
	case "forks":
		_, err = servers.Start(context.Background(), forks)
	default:
		_, err = servers.StartRedis(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("it runs")
	time.Sleep(time.Minute)
	os.Exit(0)
}

// child is a process of its own that has started a server below temp.
func child(t *testing.T, kind, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childStarts+"="+kind, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "it runs\n", said)
	return cmd
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

// However the process ends, its end of the pipe closes.
func TestNoServerOutlivesTheProcessThatStartedIt(t *testing.T) {
	servers.Need(t)
	for _, kind := range []string{"Redis", "forks"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd := child(t, kind, temp)
			kill(t, cmd)
			nothingLeft(t, temp)
		})
	}
}
