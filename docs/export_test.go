package main

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages"
)

// Every link of an exported site is relative and leads to a file of it.
func TestAnExportedSiteLeadsOnlyToItself(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes every page of the site")
	}
	dir := filepath.Join(t.TempDir(), "site")
	var out, errs bytes.Buffer
	require.Equal(t, ok, run(t.Context(), []string{"-export", dir}, &out, &errs),
		errs.String())
	assert.Regexp(t, `^\d+ pages are in .*: open .*index\.html\n$`, out.String())
	site := os.DirFS(dir)
	reference := regexp.MustCompile(`\b(?:href|src|data-search|data-worker|data-laboratory)="([^"]*)"`)
	written, links := 0, 0
	require.NoError(t, fs.WalkDir(site, ".", func(file string, d fs.DirEntry,
		err error) error {
		if err != nil || path.Ext(file) != ".html" {
			return err
		}
		written++
		text, err := fs.ReadFile(site, file)
		require.NoError(t, err)
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			link, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if !assert.NoError(t, err, file) || link.Scheme != "" || link.Path == "" {
				continue
			}
			links++
			assert.False(t, strings.HasPrefix(link.Path, "/"), "%s: %s", file, m[1])
			_, err = fs.Stat(site, path.Join(path.Dir(file), link.Path))
			assert.NoError(t, err, "%s: %s", file, m[1])
		}
		return nil
	}))
	assert.Greater(t, written, 150)
	assert.Greater(t, links, 1000)
	for _, file := range []string{"index.html", "docs/04-gold.html",
		"docs/levels/diamond/watchdog.html", "gold/lock.go.html",
		"docs/runs/gold/overrun_release/foreign-release.html", "assets/search.js",
		"assets/laboratory/" + pages.ProgramFile, "assets/laboratory/wasm_exec.js",
		"assets/laboratory/LICENSES.txt"} {
		_, err := fs.Stat(site, file)
		assert.NoError(t, err)
	}
}

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
