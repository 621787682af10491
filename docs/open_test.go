package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/play"
)

// writeRun writes a recording of one entry.
func writeRun(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "whole.json")
	require.NoError(t, (&play.File{Run: &play.Run{Lock: "mine", Scenario: "nested",
		Broken: -1, Clients: []string{"A"}, Texts: []string{""}, Lines: []string{""},
		States: make([]play.State, 1), Entries: []play.Entry{{}}}}).Write(file))
	return file
}

func TestARecordingHasAnAddress(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &said{line: make(chan string, 1)}
	var errs bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"-addr", "127.0.0.1:0", "-open",
			writeRun(t, t.TempDir())}, out, &errs)
	}()
	address := regexp.MustCompile(`^The recording is at (http://\S+)`).
		FindStringSubmatch(<-out.line)
	require.NotNil(t, address)
	response, err := http.Get(address[1])
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	interrupt()
	assert.Equal(t, ok, <-status)
	assert.Empty(t, errs.String())
}

// A file that can't be shown gets one line, and nothing is served.
func TestABadFileIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	whole := writeRun(t, dir)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	_, err = recording(whole)
	require.NoError(t, err, "it is one that can be opened")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"not there", []string{"-open", filepath.Join(dir, "none.json")}, failed,
			"none.json: no such file or directory"},
		{"a directory", []string{"-open", dir}, failed, "is a directory"},
		{"no recording", []string{"-open", write("benchmark.json", `{"schema": 2}`)}, failed,
			"it is no recording: scenarios.Record and explore.Record write them"},
		{"truncated", []string{"-open", write("half.json", string(text[:len(text)/2]))},
			failed, "it ends in the middle: record it again"},
		{"another version", []string{"-open", write("later.json", strings.Replace(
			string(text), `"version":2`, `"version":9`, 1))}, failed,
			"another version: 9, and this program reads 2"},
		{"with -export", []string{"-open", whole, "-export", filepath.Join(dir, "site")},
			usage, "-open shows a file on the site that is served here"},
		{"with -generate", []string{"-open", whole, "-generate"}, usage,
			"neither with -export nor with -generate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, err bytes.Buffer
			assert.Equal(t, c.status, run(t.Context(), c.args, &out, &err))
			assert.Empty(t, out.String())
			assert.Equal(t, 1, strings.Count(err.String(), "\n"), err.String())
			assert.Contains(t, err.String(), c.says)
		})
	}
}
