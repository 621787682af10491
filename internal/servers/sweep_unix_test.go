//go:build unix

package servers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
)

// A start removes what earlier processes have left, and ends their servers. A number
// may belong to another program by now, and one directory's name may begin another's.
func TestAStartRemovesOnlyWhatWasLeftBehind(t *testing.T) {
	servers.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	dir := func(name string) string {
		return filepath.Join(os.TempDir(), "lockladder-"+name)
	}
	// running is a process with that argument.
	running := func(argument string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "read line", "sh", argument)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd
	}
	plant := func(name string, files map[string]int) {
		require.NoError(t, os.Mkdir(dir(name), 0o700))
		for file, pid := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir(name), file),
				[]byte(strconv.Itoa(pid)+"\n"), 0o600))
		}
	}
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	nobody := gone.Process.Pid

	server, another := running("--dir="+dir("1")+"/data"), running(dir("22")+"/data")
	plant("1", map[string]int{"owner": nobody, "pid": server.Process.Pid})
	plant("2", map[string]int{"owner": nobody, "pid": another.Process.Pid})
	plant("22", map[string]int{"owner": os.Getpid(), "pid": another.Process.Pid})
	plant("3", map[string]int{"owner": nobody})
	plant("4", map[string]int{"pid": nobody})
	require.NoError(t, os.Symlink(t.TempDir(), dir("5")))

	r, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	r.Stop()
	left, err := filepath.Glob(dir("*"))
	require.NoError(t, err)
	assert.Equal(t, []string{dir("22"), dir("4"), dir("5")}, left)
	assert.ErrorContains(t, server.Wait(), "killed")
	assert.NotEqual(t, byte('Z'), process.State(another.Process.Pid), "it was killed")
}
