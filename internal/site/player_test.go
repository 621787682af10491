package site_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/pages"
)

func served(t *testing.T, path string) string {
	t.Helper()
	site := site.NewSite(pages.Record(t, os.DirFS("../..")))
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(t, http.StatusOK, w.Code, path)
	return w.Body.String()
}

func TestAPageWithARunHasAPlayerAndItsCode(t *testing.T) {
	page := served(t, "/docs/04-gold.md")
	assert.Contains(t, page, `<div class="player" data-lock="gold">`)
	assert.Contains(t, page, `{"lock":"gold","scenario":"overrun_release"`)
	assert.Contains(t, page, `"gold/lock.go":[`)
	assert.Contains(t, page, "assets/player.js")
}

func TestARunHasAPageOfItsOwn(t *testing.T) {
	page := served(t, "/docs/runs/gold/overrun_release/foreign-release.json")
	assert.Contains(t, page, "<h1>gold: overrun_release</h1>")
	assert.Contains(t, page, `<div class="player" data-lock="gold">`)
}

// A level within the explorer's bounds is made in a second, the first in no time.
func TestALevelHasAPageOfItsOwn(t *testing.T) {
	page := served(t, "/docs/levels/bronze.json")
	assert.Contains(t, page, `<div class="game"`)
	assert.Contains(t, page, `{"invariant":"orphaned","schedule":"once: `)
}

// Only the site makes runs. Elsewhere nothing leads to them.
func TestAPageLeadsToARunOnTheSite(t *testing.T) {
	assert.Contains(t, served(t, "/docs/matrix.md"), `<a href="runs/gold/overrun_release/`+
		`foreign-release.json"><strong>✗</strong></a>`)
}

// A run that can't be made leaves the page as it is, but for a line. An export is refused.
func TestARunThatCantBeMadeIsOneLine(t *testing.T) {
	site := site.NewSite(os.DirFS("../.."))
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs/04-gold.md", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Body.String(), "The run of gold in overrun_release can&#39;t be played: ")
	_, err := site.Export(filepath.Join(t.TempDir(), "site"))
	assert.ErrorContains(t, err, "can't be played: ")
}
