//go:build chromium

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// LOCKLADDER_AXE names the script of axe-core, which .ci/full fetches. It finds what
// keeps people out who don't see, or don't use a mouse.
func TestPagesAreAccessible(t *testing.T) {
	file := os.Getenv("LOCKLADDER_AXE")
	if file == "" {
		t.Skip("LOCKLADDER_AXE names no axe.min.js")
	}
	axe, err := os.ReadFile(file)
	require.NoError(t, err)
	s := newStage(t)
	type finding struct{ Impact, Id, Help, Where string }
	for _, theme := range []string{"light", "dark"} {
		for _, page := range []string{"docs/README.md", goldPage, "docs/13-cohort.md",
			"docs/matrix.md", "docs/benchmark.md", "docs/workshop.md",
			"docs/levels/gold.json", goldRun} {
			t.Run(page+" "+theme, func(t *testing.T) {
				require.NoError(t, chromedp.Do(s.ctx,
					chromedp.EmulateViewport(1280, 900),
					chromedp.Navigate(s.site+"/"+page), ready(),
					do(chromedp.Evaluate[any](fmt.Sprintf(
						"document.documentElement.dataset.theme = %q", theme))),
					do(chromedp.Evaluate[any](string(axe)+"\n;null"))))
				found, err := chromedp.Run(s.ctx, chromedp.Evaluate[[]finding](`
					axe.run().then(r => r.violations.filter(v =>
						['serious', 'critical'].includes(v.impact)).map(v => ({
						impact: v.impact, id: v.id, help: v.help,
						where: v.nodes.slice(0, 4).map(n => n.target.join(' ') +
							' ' + (n.any[0]?.message || '')).join('; ') })))`,
					chromedp.EvalAwaitPromise))
				require.NoError(t, err)
				for _, f := range found {
					t.Errorf("%s: %s (%s): %s", f.Impact, f.Help, f.Id, f.Where)
				}
				assert.Empty(t, s.c.take())
			})
		}
	}
}
