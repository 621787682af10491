//go:build chromium

package browser

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// theExport is the directory of an exported site, and what docs says of it.
var theExport = sync.OnceValues(func() (exported [2]string, err error) {
	docs, err := program()
	if err != nil {
		return exported, err
	}
	dir := filepath.Join(filepath.Dir(docs), "site")
	cmd := exec.Command(docs, "-export", dir)
	cmd.Dir, cmd.Stderr = home, os.Stderr
	said, err := cmd.Output()
	return [2]string{dir, string(said)}, err
})

// Every link of an exported site is relative and leads to a file of it.
func TestAnExportedSiteLeadsOnlyToItself(t *testing.T) {
	exported, err := theExport()
	require.NoError(t, err)
	assert.Regexp(t, `^\d+ pages are in .*: open .*index\.html\n$`, exported[1])
	files := os.DirFS(exported[0])
	reference := regexp.MustCompile(`\b(?:href|src|data-search|data-worker|data-laboratory)="([^"]*)"`)
	written, links := 0, 0
	require.NoError(t, fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".html" {
			return err
		}
		written++
		text, err := fs.ReadFile(files, file)
		require.NoError(t, err)
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			link, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if !assert.NoError(t, err, file) || link.Scheme != "" || link.Path == "" {
				continue
			}
			links++
			assert.False(t, strings.HasPrefix(link.Path, "/"), "%s: %s", file, m[1])
			_, err = fs.Stat(files, path.Join(path.Dir(file), link.Path))
			assert.NoError(t, err, "%s: %s", file, m[1])
		}
		return nil
	}))
	assert.Greater(t, written, 150)
	assert.Greater(t, links, 1000)
	for _, file := range []string{"index.html", "docs/3-gold.html",
		"docs/levels/diamond/watchdog.html", "gold/lock.go.html",
		"docs/runs/gold/overrun_release/foreign-release.html", "assets/search.js",
		"assets/laboratory/" + site.ProgramFile, "assets/laboratory/wasm_exec.js",
		"assets/laboratory/LICENSES.txt"} {
		_, err := fs.Stat(files, file)
		assert.NoError(t, err)
	}
}

// A plain file server shows the same as the site does, below any address, and so does a
// browser that opens the files themselves, but for the laboratory, of which it says what it
// needs.
func TestAnExportedSiteIsPlayedAnywhere(t *testing.T) {
	exported, err := theExport()
	require.NoError(t, err)
	dir := exported[0]
	server := httptest.NewServer(http.StripPrefix("/ladder", http.FileServer(http.Dir(dir))))
	defer server.Close()
	b := workbench{newStage(t)}
	for root, says := range map[string]string{
		server.URL + "/ladder":            "foreign release: breaks",
		"file://" + filepath.ToSlash(dir): "runs the laboratory only from a web server",
	} {
		b.c = &complaints{} // they know another site
		b.loads(root + "/docs/3-gold.html#t=179")
		assert.Equal(t, 179, b.sees().At, root)
		assert.Contains(t, b.clicks("one step on").Status, "B: Lock returns ok", root)
		link := shows[string](b.stage, `document.querySelector('.player .what-if').href`)
		assert.True(t, strings.HasPrefix(link, root+"/docs/lab.html#"), link)
		b.visits(root + "/docs/lab.html#" + overrun.Encode())
		assert.Contains(t, b.settles().Outcome, says)
		b.visits(root + "/docs/levels/diamond/watchdog.html#level=two-holders")
		assert.NotEmpty(t, b.picks("A>").Choices, root)
		assert.Equal(t, root+"/docs/levels/bronze.html#level=orphaned",
			shows[string](b.stage, `document.querySelectorAll('.levels a')[0].href`))
		hits := b.searches("fencing token")
		assert.Regexp(t, `^`+root+`/docs/[0-9a-z-]+\.html`, hits[0])
		b.loads(b.searches("silently let the owner back in")[0]) // which a folded answer says
		is(b.stage, `String(Array.from(document.querySelectorAll('main details[open]')).map(d => d.textContent.includes('silently')))`, "true")
	}
}

// searches types into the search and returns where the results lead.
func (s *stage) searches(words string) []string {
	s.t.Helper()
	s.runs("const i = document.getElementById('search'); i.value = %q;"+
		" i.dispatchEvent(new Event('input'))", words)
	var hits []string
	comes(s, `Array.from(document.querySelectorAll('#found a')).map(a => a.href)`,
		func(c *assert.CollectT, found []string) {
			assert.NotEmpty(c, found)
			hits = found
		})
	return hits
}

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
