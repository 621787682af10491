//go:build chromium

// Package browser looks at the site as go run ./docs serves and exports it, in a
// chromium. It needs one, so that its tests run only where they are asked for:
//
//	go test ./browser -tags chromium
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/site"
)

// home is the directory of the ladder's module, and root its files.
const home = "../.."

var root = os.DirFS(home)

func TestMain(m *testing.M) {
	locktest.CollectLess()
	status := m.Run()
	for _, end := range slices.Backward(atEnd) {
		end()
	}
	os.Exit(status)
}

// atEnd are what ends and removes what the tests share.
var atEnd []func()

// program is the compiled command docs.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lockladder")
	if err != nil {
		return "", fmt.Errorf("make a directory for docs: %w", err)
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "docs")
	build := exec.Command("go", "build", "-o", file, "./docs")
	build.Dir = home
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile docs: %w\n%s", err, out)
	}
	return file, nil
})

// theSite is the address at which docs serves the site until the last test has ended.
var theSite = sync.OnceValues(func() (address string, err error) {
	docs, err := program()
	if err != nil {
		return "", err
	}
	// The shell ends docs when this process has ended, however that came about.
	cmd := exec.Command("sh", "-c", `"$0" -addr 127.0.0.1:0 & read _; kill $!; wait`, docs)
	cmd.Dir, cmd.Stderr = home, os.Stderr
	ours, said, err := process.Launch(cmd)
	if err != nil {
		return "", fmt.Errorf("start docs: %w", err)
	}
	atEnd = append(atEnd, func() {
		ours.Close()
		cmd.Wait()
		said.Close()
	})
	_, err = fmt.Fscanf(said, "The workshop is at %s", &address)
	return address, err
})

// theBrowser starts a chromium: the one that LOCKLADDER_CHROMIUM names, or the one
// in the path. It ends with the last test.
var theBrowser = sync.OnceValues(func() (context.Context, error) {
	program := os.Getenv("LOCKLADDER_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("the browser %q is not there: install chromium, or name"+
			" one with LOCKLADDER_CHROMIUM", program)
	}
	profile, err := os.MkdirTemp("", "lockladder")
	if err != nil {
		return nil, fmt.Errorf("make a profile for the browser: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(found), chromedp.NoSandbox, chromedp.UserDataDir(profile))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	atEnd = append(atEnd, func() {
		closeTab()
		end()
		os.RemoveAll(profile)
	})
	return ctx, chromedp.Do(ctx, chromedp.Navigate("about:blank"))
})

// browser is a tab of a browser that remembers nothing of other tests. The browser was
// asked for by the build tag, so it must be there.
func browser(t *testing.T) context.Context {
	shared, err := theBrowser()
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// complaints are what a page said and asked that it should not have.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func (c *complaints) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// listen notes console errors, exceptions, and requests that leave the site.
func (c *complaints) listen(ctx context.Context, site string) error {
	if _, err := chromedp.Call(ctx, network.Enable,
		network.EnableParams{}); err != nil {
		return err
	}
	return chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				for _, arg := range e.Args {
					c.add("console %s: %s %s", e.Type, arg.Value,
						arg.Description)
				}
			}
		case *runtime.EventExceptionThrown:
			c.add("exception: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" {
				c.add("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, site) &&
				!strings.HasPrefix(e.Request.URL, "data:") {
				c.add("a request to %s", e.Request.URL)
			}
		}
	})
}

// ready waits until the page's scripts have run. While the browser goes from one page
// to the next there is none to ask, and that is no failure.
func ready() chromedp.Action[chromedp.Void] {
	asked := chromedp.Evaluate[bool](`document.readyState === 'complete'`)
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		end := time.Now().Add(20 * time.Second)
		for {
			is, err := asked(ctx, t)
			if is && err == nil {
				return chromedp.Void{}, nil
			}
			if time.Now().After(end) || ctx.Err() != nil {
				return chromedp.Void{}, fmt.Errorf("the page is not there"+
					" in time: %v", errors.Join(err, ctx.Err()))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// stage is a site in a browser.
type stage struct {
	t    *testing.T
	ctx  context.Context
	site string
	c    *complaints
}

func newStage(t *testing.T) *stage {
	t.Helper()
	address, err := theSite()
	require.NoError(t, err)
	return stageAt(t, address)
}

// stageOf is a stage with a site of its own, without runs and levels.
func stageOf(t *testing.T, served *site.Site) *stage {
	t.Helper()
	site := httptest.NewServer(served)
	t.Cleanup(site.Close)
	return stageAt(t, site.URL)
}

func stageAt(t *testing.T, address string) *stage {
	t.Helper()
	s := &stage{t, browser(t), address, &complaints{}}
	require.NoError(t, s.c.listen(s.ctx, address))
	return s
}

// sized gives the window a size.
func (s *stage) sized(width, height int64) {
	s.t.Helper()
	require.NoError(s.t, chromedp.Do(s.ctx, chromedp.EmulateViewport(width, height)))
}

// visits goes to a page, or to another part of the one that is there.
func (s *stage) visits(address string) {
	s.t.Helper()
	page, part, found := strings.Cut(address, "#")
	if !found || shows[string](s, `location.href.split('#')[0]`) != page {
		require.NoError(s.t, chromedp.Do(s.ctx, chromedp.Navigate(address), ready()))
		return
	}
	// The page's own listener has heard of it before this one.
	_, err := chromedp.Run(s.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise(is => {
		const there = location.hash;
		addEventListener('hashchange', () => is(true), {once: true});
		location.hash = %q;
		if (location.hash === there) { is(true); }
	})`, part), chromedp.EvalAwaitPromise))
	require.NoError(s.t, err)
}

// loads loads a page anew, whatever the browser shows now.
func (s *stage) loads(address string) {
	s.t.Helper()
	require.NoError(s.t, chromedp.Do(s.ctx, chromedp.Navigate("about:blank")))
	s.visits(address)
}

// runs runs a script on the page for what it does.
func (s *stage) runs(format string, args ...any) {
	s.t.Helper()
	shows[any](s, "(() => { "+fmt.Sprintf(format, args...)+" })() ?? null")
}

// key presses a key on the page.
func (s *stage) key(name string) {
	s.t.Helper()
	s.runs("document.dispatchEvent(new KeyboardEvent('keydown', {key: %q}))", name)
}

// shows is what a script finds on the page.
func shows[T any](s *stage, script string) T {
	s.t.Helper()
	found, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](script))
	require.NoError(s.t, err)
	return found
}

// comes waits until what a script finds on the page is as it should be.
func comes[T any](s *stage, script string, is func(c *assert.CollectT, found T)) {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		found, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](script))
		assert.NoError(c, err)
		is(c, found)
	}, 30*time.Second, 50*time.Millisecond)
}

// is waits until a script finds that on the page.
func is(s *stage, script, want string) {
	s.t.Helper()
	comes(s, script, func(c *assert.CollectT, found string) { assert.Equal(c, want, found) })
}

// seen is what a reader has of a page.
const seen = `({
	unseen: Array.from(document.images).filter(
		i => i.complete && i.naturalWidth === 0).length,
	wide: document.documentElement.scrollWidth -
		document.documentElement.clientWidth,
	text: document.querySelector('main').innerText.length,
})`

// Every page fits on a phone and on a desk, and can be printed. Of the pages that are not
// about a rung, the short test prints none.
func TestEveryPage(t *testing.T) {
	s := newStage(t)
	for _, page := range append(site.NewSite(root).Order(), "README.md", "gold/lock.go",
		"diamond/release.lua", "scenarios") {
		t.Run(page, func(t *testing.T) {
			s.t = t
			s.sized(390, 800)
			s.visits(s.site + "/" + page)
			for _, width := range []int64{390, 1280} {
				s.sized(width, 800)
				seen := shows[struct{ Text, Unseen, Wide int }](s, seen)
				assert.Greater(t, seen.Text, 10, "the page has content")
				assert.Zero(t, seen.Unseen, "pictures that can't be shown")
				assert.LessOrEqual(t, seen.Wide, 0, "the page is wider than %d", width)
			}
			assert.Empty(t, s.c.take())
			ofRung, err := path.Match("docs/[0-9]-*.md", page)
			require.NoError(t, err)
			if ofRung || strings.HasPrefix(page, "docs/") && !testing.Short() {
				s.wastesNoPaper()
			}
		})
	}
}

// Keys lead on and back, and change the theme. They can be switched off, and stay off.
func TestKeys(t *testing.T) {
	s := newStage(t)
	const theme = `document.documentElement.dataset.theme`
	s.visits(s.site + "/" + goldPage)
	before := shows[string](s, theme)
	s.key("d")
	assert.NotEqual(t, before, shows[string](s, theme))
	for _, step := range [][2]string{{"ArrowRight", "/docs/4-platinum.md"},
		{"ArrowLeft", "/docs/3-gold.md"}, {"h", "/"}} {
		s.key(step[0])
		is(s, `location.pathname`, step[1])
		require.NoError(t, chromedp.Do(s.ctx, ready()))
	}
	s.runs("document.getElementById('keys').click()")
	s.visits(s.site + "/" + goldPage)
	before = shows[string](s, theme)
	s.key("d")
	assert.Equal(t, before, shows[string](s, theme))
}

// axeScript is axe-core, which LOCKLADDER_AXE names and .ci/full fetches. It finds what
// keeps people out who don't see, or don't use a mouse.
func axeScript(t *testing.T) string {
	file := os.Getenv("LOCKLADDER_AXE")
	if file == "" {
		t.Skip("LOCKLADDER_AXE names no axe.min.js")
	}
	axe, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(axe)
}

// isAccessible says that axe-core finds nothing serious on the page in a theme.
func (s *stage) isAccessible(axe, theme string) {
	s.t.Helper()
	s.runs("document.documentElement.dataset.theme = %q", theme)
	shows[any](s, axe+"\n;null")
	found, err := chromedp.Run(s.ctx, chromedp.Evaluate[[]string](`
		axe.run().then(r => r.violations.filter(v =>
			['serious', 'critical'].includes(v.impact)).map(v => v.impact + ': ' +
			v.help + ' (' + v.id + '): ' + v.nodes.slice(0, 4).map(n =>
			n.target.join(' ') + ' ' + (n.any[0]?.message || '')).join('; ')))`,
		chromedp.EvalAwaitPromise))
	require.NoError(s.t, err)
	assert.Empty(s.t, found, "%s in %s", shows[string](s, `location.pathname`), theme)
}

func TestEverySurfaceIsAccessible(t *testing.T) {
	axe := axeScript(t)
	b := newBench(t)
	b.sized(1280, 900)
	for _, theme := range []string{"light", "dark"} {
		for _, page := range []string{"docs/README.md", goldPage, "docs/cohort.md",
			"docs/matrix.md", "docs/benchmark.md", "docs/workshop.md",
			"docs/levels/gold.json", goldRun} {
			b.visits(b.site + "/" + page)
			b.isAccessible(axe, theme)
			assert.Empty(t, b.c.take(), page)
		}
		b.asks(url.Values{"rung": {"exercise fenced"}, "faults": {"A.1.late reply.2000"}})
		b.presses("Check the exercise")
		b.settles()
		b.isAccessible(axe, theme)
	}
}
