package site_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/levels"
	"github.com/lockladder/lockladder/internal/site/play"
)

func served(t *testing.T, path string) string {
	t.Helper()
	site := site.NewSite(os.DirFS("../.."))
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

// Every level has a graph, in which the explorer has judged its invariant.
func TestEveryLevelCanBePlayed(t *testing.T) {
	for _, level := range levels.All {
		t.Run(level.String(), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../..",
				levels.File(level.Lock)))
			require.NoError(t, err)
			var graph play.Graph
			require.NoError(t, json.Unmarshal(text, &graph))
			assert.True(t, slices.ContainsFunc(graph.Goals, func(g play.Goal) bool {
				return g.Invariant == string(level.Invariant)
			}))
			assert.NotEmpty(t, level.Ask)
		})
	}
}
