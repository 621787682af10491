//go:build chromium

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
)

func script(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

// The checks are in testdata/checks.js.
func TestWhatPagesShow(t *testing.T) {
	s := newStage(t)
	checks := script(t, "checks.js")
	for i, check := range shows[[]struct {
		Name  string
		Pages []string
		Sizes [][2]int64
	}](s, "("+checks+").map(({name, pages, sizes}) => ({name, pages, sizes}))") {
		for _, page := range check.Pages {
			for _, size := range check.Sizes {
				t.Run(fmt.Sprintf("%s: %s at %d", check.Name, page, size[0]), func(t *testing.T) {
					s.t = t
					s.sized(size[0], size[1])
					s.loads(s.site + page)
					wrong, err := chromedp.Run(s.ctx, chromedp.Evaluate[[]string](fmt.Sprintf(
						"(async all => { const wrong = []; await all[%d].check(wrong);"+
							" return wrong; })(%s)", i, checks), chromedp.EvalAwaitPromise))
					require.NoError(t, err)
					assert.Empty(t, wrong)
					assert.Empty(t, s.c.take())
				})
			}
		}
	}
}

// The README's picture is what the player shows.
func TestTheReadmeShowsThePlayer(t *testing.T) {
	s := newStage(t)
	s.sized(1366, 768)
	s.visits(s.site + "/docs/runs/gold/overrun_release/foreign-release.json#t=999")
	s.runs("document.querySelector('.lanes').style.width = '462px'")
	is(s, `String(document.querySelector('.lanes svg').clientWidth <= 462)`, "true")
	drawn := shows[string](s, script(t, "picture.js")+"(460, ') Unlock(')")
	file := filepath.Join(home, "docs", "player.svg")
	if *generated.Update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, drawn, string(kept), "draw it again with -update")
}
