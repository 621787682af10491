package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/recording"
)

func TestAReplacementThatFailsAtTheLastStepLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, recording.Replace(path, nil))
	assert.ErrorContains(t, recording.Replace(path, func(w io.Writer) error {
		require.NoError(t, os.Mkdir(path, 0o755)) // another process was quicker
		return bench.Report{}.Write(w)
	}), path)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestTheCommitIsThatOfTheProgramWhereverItRuns(t *testing.T) {
	here := commit(t.Context())
	t.Chdir(t.TempDir())
	assert.Equal(t, here, commit(t.Context()))
}
