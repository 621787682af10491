package site_test

import (
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
	_, err := site.Export(filepath.Join(t.TempDir(), "site"))
	assert.ErrorContains(t, err, "can't be played: ")
}
