//go:build chromium

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/play"
)

// exported is a stage on an exported site, at an address.
func exportedTo(t *testing.T, dir string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, ok, run(t.Context(), []string{"-export", dir}, &out, &errs),
		errs.String())
}

// A plain file server, and a browser that opens the files themselves, show the same
// as the site does.
func TestAnExportedSiteIsPlayedAnywhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	exportedTo(t, dir)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	s := newStage(t)
	for _, root := range []string{server.URL, "file://" + filepath.ToSlash(dir)} {
		s.c = &complaints{}
		page := root + "/docs/04-gold.html#t=179"
		require.NoError(t, chromedp.Do(s.ctx, chromedp.Navigate("about:blank"),
			chromedp.Navigate(page), ready()))
		assert.Equal(t, 179, s.sees().At, root)
		assert.Contains(t, s.clicks("one step on").Status, "B: Lock returns ok", root)
		require.NoError(t, chromedp.Do(s.ctx, chromedp.Navigate(root+
			"/docs/levels/diamond/watchdog.html#level=two-holders"), ready()))
		assert.NotEmpty(t, s.picks("A>").Choices, root)
		next, err := chromedp.Run(s.ctx, chromedp.Evaluate[string](
			`document.querySelectorAll('.levels a')[0].href`))
		require.NoError(t, err)
		assert.Equal(t, root+"/docs/levels/bronze.html#level=orphaned", next)
		hits := s.searches("fencing token")
		require.NotEmpty(t, hits, root)
		assert.Regexp(t, `^`+root+`/docs/[0-9a-z-]+\.html`, hits[0])
	}
}

// searches types into the search and returns where the results lead.
func (s *stage) searches(words string) []string {
	s.t.Helper()
	require.NoError(s.t, chromedp.Do(s.ctx, do(chromedp.Evaluate[any](
		"(() => { const i = document.getElementById('search'); i.value = '"+words+
			"'; i.dispatchEvent(new Event('input')) })() ?? null"))))
	var hits []string
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		found, err := chromedp.Run(s.ctx, chromedp.Evaluate[[]string](`Array.from(
			document.querySelectorAll('#found a')).map(a => a.href)`))
		assert.NoError(c, err)
		assert.NotEmpty(c, found)
		hits = found
	}, 10*time.Second, 50*time.Millisecond)
	return hits
}

func TestTheSearchFindsASection(t *testing.T) {
	s := newStage(t)
	s.open(goldPage)
	hits := s.searches("watchdog lease")
	assert.Contains(t, hits[0], s.site+"/docs/")
	assert.LessOrEqual(t, len(hits), 12)
}

// The keys of the page can be switched off, and stay off.
func TestKeysCanBeSwitchedOff(t *testing.T) {
	s := newStage(t)
	turned := `(() => {
		const before = document.documentElement.dataset.theme;
		document.dispatchEvent(new KeyboardEvent('keydown', {key: 'd'}));
		return before !== document.documentElement.dataset.theme;
	})()`
	s.open(goldPage)
	on, err := chromedp.Run(s.ctx, chromedp.Evaluate[bool](turned))
	require.NoError(t, err)
	assert.True(t, on)
	require.NoError(t, chromedp.Do(s.ctx, do(chromedp.Evaluate[any](
		`document.getElementById('keys').click() ?? null`))))
	s.open(play.Dir + "/gold/overrun_release/foreign-release.json")
	off, err := chromedp.Run(s.ctx, chromedp.Evaluate[bool](turned))
	require.NoError(t, err)
	assert.False(t, off)
}
