//go:build unix

package servers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

// nobody is a user who runs no tests.
const nobody = 65534

// gone is the number of a process that has ended.
func gone(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	return strconv.Itoa(cmd.Process.Pid)
}

// plant makes a server's directory whose process is gone.
func plant(t *testing.T, dir, server string) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, content := range map[string]string{
		"owner": gone(t), "pid": server + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte(content), 0o600))
	}
}

// A start removes what earlier processes have left. The temporary directory is
// everybody's, so it looks at what it finds there before it trusts it.
func TestAStartRemovesOnlyWhatIsItsOwn(t *testing.T) {
	serverstest.Need(t)
	fifo := func(name string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		}
	}
	link := func(name string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			if err := os.Rename(path, path+".txt"); err != nil {
				return err
			}
			return os.Symlink(path+".txt", path)
		}
	}
	give := func(name string) func(string) error {
		return func(dir string) error {
			return os.Lchown(filepath.Join(dir, name), nobody, nobody)
		}
	}
	for _, c := range []struct {
		name   string
		change func(dir string) error
		stays  bool
		root   bool // only root can make it
	}{
		{name: "what is its own",
			change: func(string) error { return nil }},
		{name: "a server that never had a process",
			change: func(dir string) error {
				return os.Remove(filepath.Join(dir, "pid"))
			}},
		{name: "no owner", stays: true, change: func(dir string) error {
			return os.Remove(filepath.Join(dir, "owner"))
		}},
		{name: "an owner that is a FIFO", change: fifo("owner"), stays: true},
		{name: "a pid that is a FIFO", change: fifo("pid"), stays: true},
		{name: "an owner that is a link", change: link("owner"), stays: true},
		{name: "a pid that is a link", change: link("pid"), stays: true},
		{name: "a directory that is a link", stays: true,
			change: func(dir string) error {
				elsewhere := filepath.Join(t.TempDir(), "elsewhere")
				if err := os.Rename(dir, elsewhere); err != nil {
					return err
				}
				return os.Symlink(elsewhere, dir)
			}},
		{name: "another user's directory", change: give("."), stays: true,
			root: true},
		{name: "another user's owner", change: give("owner"), stays: true,
			root: true},
		{name: "another user's pid", change: give("pid"), stays: true,
			root: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				t.Skip("only root can give files away")
			}
			t.Setenv("TMPDIR", t.TempDir())
			dir := filepath.Join(os.TempDir(), "lockladder-1")
			plant(t, dir, gone(t))
			require.NoError(t, c.change(dir))

			started := make(chan error, 1)
			go func() { // joined below, or ends with the reader's release
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := servers.StartRedis(ctx)
				if err == nil {
					r.Stop()
				}
				started <- err
			}()
			select {
			case err := <-started:
				require.NoError(t, err)
			case <-time.After(20 * time.Second):
				for _, name := range []string{"owner", "pid"} {
					if f, err := os.OpenFile(filepath.Join(dir, name),
						os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
						f.Close() // lets the one who reads it go on
					}
				}
				<-started
				t.Fatal("the start hangs, past the end of its context")
			}
			_, err := os.Lstat(dir)
			assert.Equal(t, c.stays, err == nil, "it is there: %v", err)
		})
	}
}

// The name of one directory may begin that of another.
func TestAStartSparesALiveServerWhoseNameBeginsTheSame(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			kind.need(t)
			t.Parallel()
			temp := t.TempDir()
			live := child(t, name, "waits", temp)
			pid := server(t, live)
			found, err := filepath.Glob(filepath.Join(temp, "lockladder-*"))
			require.NoError(t, err)
			require.Len(t, found, 1)
			planted := strings.TrimRight(found[0], "0123456789") +
				filepath.Base(found[0])[len("lockladder-"):len("lockladder-")+3]
			require.NotEqual(t, planted, found[0])
			plant(t, planted, strconv.Itoa(pid))

			next := child(t, name, "waits", temp)
			server(t, next)
			assert.NoDirExists(t, planted, "nobody has looked at it")
			// A killed one would wait for its shell, as a zombie.
			state, err := exec.Command("ps", "-o", "stat=", "-p",
				strconv.Itoa(pid)).Output()
			assert.NoError(t, err)
			assert.NotContains(t, string(state), "Z", "the server was killed")
			assert.DirExists(t, found[0])
			kill(t, live)
			kill(t, next)
			nothingLeft(t, temp)
		})
	}
}
