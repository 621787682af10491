package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
)

func TestOnlyATerminalHasAProgressLine(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	showProgress(file, nil).stop()
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	assert.Empty(t, content)
}

func TestAReplacementThatFailsAtTheLastStepLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, writable(path))
	require.NoError(t, os.Mkdir(path, 0o755)) // another process was quicker
	assert.ErrorContains(t, replace(path, bench.Report{}.Write), path)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestTheCommitIsThatOfTheProgramWhereverItRuns(t *testing.T) {
	here := commit(t.Context())
	t.Chdir(t.TempDir())
	assert.Equal(t, here, commit(t.Context()))
}
