package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnExportTouchesNoFilesThatAreThere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	var out, errs bytes.Buffer
	assert.Equal(t, failed, run(t.Context(), []string{"-export", dir}, &out, &errs))
	assert.Contains(t, errs.String(), "is not empty: name a directory that is")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}
