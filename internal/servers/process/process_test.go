//go:build unix

package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// TestMain makes this test binary the program that starts itself.
func TestMain(m *testing.M) {
	// With the race detector a program would take a second to exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	process.ServeAfter("leaves a file", func(path string) error {
		return os.WriteFile(path, nil, 0o600)
	})
	if process.Name() == "wants a file" {
		_, err := process.After("leaves a file", os.Args[1])
		fmt.Println(err)
		select {}
	}
	os.Exit(m.Run())
}

func TestAfterwardsTheRestIsDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	finish, err := process.After("leaves a file", path)
	require.NoError(t, err)
	assert.NoFileExists(t, path)
	require.NoError(t, finish())
	assert.FileExists(t, path)

	finish, err = process.After("leaves a file", "/no/such/directory/file")
	require.NoError(t, err)
	assert.EqualError(t, finish(), "leaves a file: exit status 1")
}

// The work is done also when the parent is killed.
func TestAfterAKillTheRestIsDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	parent := exec.Command(os.Args[0], path)
	parent.Env = process.Environment("wants a file")
	_, out, err := process.Launch(parent)
	require.NoError(t, err)
	defer out.Close()
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "<nil>\n", said)
	assert.NoFileExists(t, path)
	require.NoError(t, parent.Process.Kill())
	parent.Wait()
	assert.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}
