package site_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
)

func TestTheSiteLeavesOutWhatOtherToolsHaveBuilt(t *testing.T) {
	site := site.NewSite(fstest.MapFS{
		"docs/README.md":            {Data: []byte("# The workshop\n")},
		"java/pom.xml":              {Data: []byte("<project/>")},
		"java/target/program.jar":   {Data: []byte("\x00\xff")},
		"java/.venv/bin/python":     {Data: []byte("\x00\xff")},
		"java/node_modules/left.js": {Data: []byte("")},
	})
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", "/java", nil))
	assert.Contains(t, w.Body.String(), `<a href="/java/pom.xml">`)
	for _, built := range []string{"target", ".venv", "node_modules"} {
		assert.NotContains(t, w.Body.String(), built)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "/java/"+built, nil))
		assert.Equal(t, 404, w.Code, built)
	}
}

// An editor's lock file is a link that leads nowhere. It takes no other page away.
func TestAPageThatCantBeReadIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docs", "README.md"), []byte("# Here\n"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "docs", "stray.md")))
	s := site.NewSite(os.DirFS(dir))
	for _, file := range []string{"/", "/assets/search.js"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", file, nil))
		assert.Equal(t, 200, w.Code, file)
		assert.NotContains(t, w.Body.String(), "stray")
	}
}

// The laboratory's program is loaded again only when it has changed.
func TestTheLaboratorysProgramIsValidated(t *testing.T) {
	s, program := site.NewSite(fstest.MapFS{}), "one"
	s.Program = func(context.Context) (map[string][]byte, error) {
		return map[string][]byte{site.ProgramFile: []byte(program)}, nil
	}
	asks := func(tag string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "/assets/laboratory/"+site.ProgramFile, nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	first := asks("")
	tag := first.Header.Get("ETag")
	assert.Equal(t, http.StatusOK, first.StatusCode)
	assert.Equal(t, http.StatusNotModified, asks(tag).StatusCode)
	program = "two"
	assert.Equal(t, http.StatusOK, asks(tag).StatusCode)
}

// A page with a run has a player and the code of its locks. Only the site makes runs and
// levels, which have pages of their own: elsewhere nothing leads to them.
func TestRunsAndLevelsArePlayed(t *testing.T) {
	site := site.NewSite(generated.Record(t, os.DirFS("../..")))
	for path, says := range map[string][]string{
		"/docs/3-gold.md": {`<div class="player" data-lock="gold">`, `"gold/lock.go":[`,
			`{"lock":"gold","scenario":"overrun_release"`},
		"/docs/matrix.md": {`<a href="runs/gold/overrun_release/foreign-release.json">` +
			`<strong>✗</strong></a>`},
		"/docs/runs/gold/overrun_release/foreign-release.json": {"<h1>gold: overrun_release</h1>"},
		"/docs/levels/bronze.json":                             {`{"invariant":"orphaned","schedule":"once: `},
	} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		for _, text := range says {
			assert.Contains(t, w.Body.String(), text, path)
		}
	}
}

// A run that can't be made leaves the page as it is, but for a line. An export is refused.
func TestARunThatCantBeMadeIsOneLine(t *testing.T) {
	site := site.NewSite(fstest.MapFS{"docs/README.md": {
		Data: []byte("<!-- run gold/overrun_release: two holders -->\n")}})
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Body.String(), "The run of gold in overrun_release can&#39;t be played: ")
	dir := filepath.Join(t.TempDir(), "site")
	_, err := site.Export(t.Context(), dir)
	assert.ErrorContains(t, err, "can't be played: ")
	assert.NoDirExists(t, dir)
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = site.Export(t.Context(), dir)
	assert.Error(t, err, "it is a file")
	assert.FileExists(t, dir)
}
