//go:build unix

package process_test

import (
	"errors"
	"fmt"
	"os"
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
	switch process.Name() {
	case "":
		process.EndWithin(time.Second)
	case "is busy":
		process.EndWithin(time.Second / 2)
	}
	process.Serve("echo", func(parent *process.Parent) error {
		for {
			var text string
			if err := parent.Hear(&text); err != nil {
				return nil // the parent wants no more
			}
			fmt.Println("this is no answer")
			if err := parent.Say(text); err != nil {
				return err
			}
		}
	})
	process.Serve("fails", func(*process.Parent) error {
		fmt.Fprintln(os.Stderr, "so far so good")
		return errors.New("out of paper")
	})
	process.Serve("panics", func(*process.Parent) error { panic("on fire") })
	process.Serve("is busy", func(parent *process.Parent) error {
		if err := parent.Say(os.Getpid()); err != nil {
			return err
		}
		select {}
	})
	process.Serve("has two processes", family)
	process.Serve("hears nothing", func(*process.Parent) error { select {} })
	process.Serve("wants a file", func(parent *process.Parent) error {
		var path string
		if err := parent.Hear(&path); err != nil {
			return err
		}
		_, err := process.After("leaves a file", path)
		if err := errors.Join(err, parent.Say(err == nil)); err != nil {
			return err
		}
		select {}
	})
	process.ServeAfter("leaves a file", func(path string) error {
		return os.WriteFile(path, nil, 0o600)
	})
	os.Exit(m.Run())
}

// family is a process with two of its own, of which it has paused one. It says
// their numbers and waits to be killed.
func family(above *process.Parent) error {
	for _, pauses := range []bool{false, true} {
		p, err := process.Start[int]("is busy")
		if err != nil {
			return err
		}
		pid := <-p.Answers
		if pauses {
			if err := process.Pause(pid); err != nil {
				return err
			}
		}
		if err := above.Say(pid); err != nil {
			return err
		}
	}
	select {}
}

func TestAProcessHearsAndAnswers(t *testing.T) {
	p, err := process.Start[string]("echo")
	require.NoError(t, err)
	for _, text := range []string{"one", "line\nand another"} {
		require.NoError(t, p.Tell(text))
		assert.Equal(t, text, <-p.Answers)
	}
	require.NoError(t, p.Tell("nobody waits for this"))
	assert.NoError(t, p.Close())
	assert.NoError(t, p.Err())
	assert.False(t, process.Running(p.OS.Pid))
	assert.Error(t, p.Tell("still there?"))
}

func TestAProcessThatFailsSaysWhy(t *testing.T) {
	for name, why := range map[string]string{
		"fails":  "fails: out of paper",
		"panics": "panic: on fire",
	} {
		p, err := process.Start[string](name)
		require.NoError(t, err)
		_, open := <-p.Answers
		assert.False(t, open)
		assert.EqualError(t, p.Err(), why)
		assert.NoError(t, p.Close(), "it is gone already")
	}
}

func TestNoProcessOutlivesItsParent(t *testing.T) {
	p, err := process.Start[int]("has two processes")
	require.NoError(t, err)
	one, paused := <-p.Answers, <-p.Answers
	require.True(t, process.Running(one))
	require.Equal(t, byte('T'), process.State(paused))
	p.Kill()
	for _, pid := range []int{one, paused} {
		assert.Eventually(t, func() bool {
			state := process.State(pid)
			return state == 0 || state == 'Z' // for the system to bury
		}, 20*time.Second, 10*time.Millisecond)
	}
}

func TestAProcessThatDoesNotEndIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until the process is killed")
	}
	t.Parallel()
	p, err := process.Start[string]("hears nothing")
	require.NoError(t, err)
	require.NoError(t, process.Pause(p.OS.Pid))
	assert.EqualError(t, p.Close(), "hears nothing had to be killed")
	assert.EqualError(t, p.Err(), "signal: killed")
}

func TestAProcessThatIsBusyEndsSoonAfterItsConversation(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until the process gives up")
	}
	t.Parallel()
	p, err := process.Start[int]("is busy")
	require.NoError(t, err)
	<-p.Answers
	assert.NoError(t, p.Close())
	assert.EqualError(t, p.Err(), "exit status 1")
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
	p, err := process.Start[bool]("wants a file")
	require.NoError(t, err)
	require.NoError(t, p.Tell(path))
	require.True(t, <-p.Answers)
	assert.NoFileExists(t, path)
	p.Kill()
	assert.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}
