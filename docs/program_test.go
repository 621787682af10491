package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALinkThatLeadsOutOfTheModuleLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(dir, "link")))
	_, err := fs.Stat(inside(dir), "link")
	assert.Error(t, err)
}

// The laboratory is compiled when the site starts. A page that is closed meanwhile waits
// no longer, and an interrupt leaves nothing behind that compiles.
func TestAnInterruptEndsWhatIsBeingCompiled(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("only Linux says which processes there are")
	}
	cold := "GOCACHE=" + t.TempDir()
	t.Setenv("GOCACHE", cold[len("GOCACHE="):])
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	_, laboratory := openSite(t, ctx, "..")
	var out bytes.Buffer
	said := make(chan struct{})
	go func() {
		defer close(said)
		laboratory.prepare(&out)
	}()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(having(cold), compilesForLong)
	}, time.Minute, time.Millisecond)
	closed, cancel := context.WithCancel(ctx)
	cancel()
	_, err := laboratory.Files(closed)
	require.ErrorIs(t, err, context.Canceled)
	assert.NotEmpty(t, having(cold), "the site compiles on")
	interrupt()
	began := time.Now()
	<-said
	laboratory.works.Wait()
	assert.Less(t, time.Since(began), 2*time.Second)
	assert.Eventually(t, func() bool { return len(having(cold)) == 0 },
		250*time.Millisecond, time.Millisecond, "the compilers have ended, too")
	assert.Regexp(t, `^The laboratory is being compiled. The first time takes a minute or two.\n$`,
		out.String())
}

// compilesForLong says whether a process compiles Go's runtime, which takes seconds.
func compilesForLong(process string) bool {
	text, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	return bytes.Contains(text, []byte("-p\x00runtime\x00"))
}

// having are the directories of the processes that have a variable in their environment.
func having(variable string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		text, _ := os.ReadFile(filepath.Join(process, "environ"))
		if bytes.Contains(text, []byte(variable+"\x00")) {
			found = append(found, process)
		}
	}
	return found
}
