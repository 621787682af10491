package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
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
	file, err := replace(path)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(path, 0o755)) // somebody was quicker

	assert.ErrorContains(t, file.commit(benchmark.Report{}.Write), path)
	assert.NoError(t, file.close())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}
