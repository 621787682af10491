//go:build chromium

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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

	"github.com/lockladder/lockladder/internal/pages"
)

// browser starts a chromium: the one that LOCKLADDER_CHROMIUM names, or the one
// in the path. It was asked for by the build tag, so it must be there.
func browser(t *testing.T) context.Context {
	program := os.Getenv("LOCKLADDER_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	found, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("the browser %q is not there: install chromium, or name one"+
			" with LOCKLADDER_CHROMIUM", program)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(found), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
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

// do runs an action for what it does.
func do[T any](action chromedp.Action[T]) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := action(ctx, t)
		return chromedp.Void{}, err
	}
}

// ready waits until the page's script has drawn all diagrams. While the browser
// goes from one page to the next there is none to ask, and that is no failure.
func ready() chromedp.Action[chromedp.Void] {
	asked := chromedp.Evaluate[bool](
		`!!document.documentElement && 'drawn' in document.documentElement.dataset`)
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		end := time.Now().Add(20 * time.Second)
		for {
			is, err := asked(ctx, t)
			if is && err == nil {
				return chromedp.Void{}, nil
			}
			if time.Now().After(end) || ctx.Err() != nil {
				return chromedp.Void{}, fmt.Errorf("the diagrams are not drawn"+
					" in time: %v", errors.Join(err, ctx.Err()))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// drawn is what a page's script knows of its diagrams.
const drawn = `({
	all: document.querySelectorAll('pre.mermaid').length,
	drawn: document.querySelectorAll('pre.mermaid > svg').length,
	wrong: document.querySelectorAll('pre.mermaid .error-icon, ' +
		'pre.mermaid .error-text').length,
	marked: document.querySelectorAll('pre.mermaid svg rect.rect').length,
	unseen: Array.from(document.images).filter(
		i => i.complete && i.naturalWidth === 0).length,
	wide: document.documentElement.scrollWidth -
		document.documentElement.clientWidth,
	text: document.querySelector('main').innerText.length,
})`

type state struct {
	All, Drawn, Wrong, Marked, Unseen, Wide, Text int
}

func TestEveryPageRendersInABrowser(t *testing.T) {
	site := httptest.NewServer(pages.NewSite(os.DirFS("..")))
	defer site.Close()
	ctx := browser(t)
	c := &complaints{}
	require.NoError(t, c.listen(ctx, site.URL))

	diagrams := 0
	order := pages.NewSite(os.DirFS("..")).Order()
	require.NotEmpty(t, order)
	order = append(order, "README.md", "gold/lock.go",
		"diamond/release.lua", "scenarios")
	for _, width := range []int64{1280, 390} {
		for _, page := range order {
			t.Run(fmt.Sprintf("%s at %d", page, width), func(t *testing.T) {
				require.NoError(t, chromedp.Do(ctx,
					chromedp.EmulateViewport(width, 800),
					chromedp.Navigate(site.URL+"/"+page+"?still"), ready()))
				s, err := chromedp.Run(ctx, chromedp.Evaluate[state](drawn))
				require.NoError(t, err)
				assert.Empty(t, c.take())
				assert.Greater(t, s.Text, 10, "the page has content")
				assert.Equal(t, s.All, s.Drawn, "diagrams that are drawn")
				assert.Zero(t, s.Wrong, "diagrams that could not be understood")
				assert.GreaterOrEqual(t, s.Marked, s.All, "breaks are marked")
				assert.Zero(t, s.Unseen, "pictures that can't be shown")
				assert.LessOrEqual(t, s.Wide, 0, "the page is wider than the"+
					" screen")
				diagrams += s.All
			})
		}
	}
	assert.Greater(t, diagrams, 20)
}

// A matrix that is folded away is whole at 1280 px once it is unfolded.
func TestAFoldedMatrixIsWholeOnAWideScreen(t *testing.T) {
	ctx := browser(t)
	site := httptest.NewServer(pages.NewSite(os.DirFS("..")))
	defer site.Close()
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)))
	for _, page := range []string{"redisson", "libraries"} {
		require.NoError(t, chromedp.Do(ctx,
			chromedp.Navigate(site.URL+"/docs/"+page+".md?still"), ready()))
		hidden, err := chromedp.Run(ctx, chromedp.Evaluate[[]int](`Array.from(
			document.querySelectorAll('main > details > table')).map(table => {
				table.parentNode.open = true;
				return table.scrollWidth - table.clientWidth;
			})`))
		require.NoError(t, err)
		require.NotEmpty(t, hidden, page)
		for _, pixels := range hidden {
			assert.LessOrEqual(t, pixels, 0, "%s: a table has columns out of sight", page)
		}
	}
}

// Keys lead on and back, and change the theme, which redraws diagrams.
func TestKeys(t *testing.T) {
	site := httptest.NewServer(pages.NewSite(os.DirFS("..")))
	defer site.Close()
	ctx := browser(t)
	key := func(name string) chromedp.Action[chromedp.Void] {
		return do(chromedp.Evaluate[any](fmt.Sprintf("document.dispatchEvent("+
			"new KeyboardEvent('keydown', {key: %q})) && null", name)))
	}
	here := chromedp.Evaluate[string](`location.pathname`)
	theme := chromedp.Evaluate[string](`document.documentElement.dataset.theme`)
	require.NoError(t, chromedp.Do(ctx,
		chromedp.Navigate(site.URL+"/docs/04-gold.md?still"), ready()))
	before, err := chromedp.Run(ctx, theme)
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, key("d"), ready()))
	after, err := chromedp.Run(ctx, theme)
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
	s, err := chromedp.Run(ctx, chromedp.Evaluate[state](drawn))
	require.NoError(t, err)
	assert.NotZero(t, s.All)
	assert.Equal(t, s.All, s.Drawn)
	for _, step := range []struct{ key, leads string }{
		{"ArrowRight", "/docs/05-script.md"},
		{"ArrowLeft", "/docs/04-gold.md"},
		{"h", "/docs/README.md"},
	} {
		require.NoError(t, chromedp.Do(ctx, key(step.key)))
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			path, err := chromedp.Run(ctx, here)
			assert.NoError(c, err)
			assert.Equal(c, step.leads, path)
		}, 10*time.Second, 50*time.Millisecond)
		require.NoError(t, chromedp.Do(ctx, ready()))
	}
}

// With ?slides the arrows turn a page's sections, and with ?poster the page is its
// table.
func TestSlidesAndThePoster(t *testing.T) {
	site := httptest.NewServer(pages.NewSite(os.DirFS("..")))
	defer site.Close()
	ctx := browser(t)
	seen := chromedp.Evaluate[string](`Array.from(document.querySelectorAll(
		'main > section')).filter(s => !s.hidden).map(s =>
		s.querySelector('h1, h2, h3').textContent).join()`)
	shows := func(heading string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			headings, err := chromedp.Run(ctx, seen)
			assert.NoError(c, err)
			assert.Equal(c, heading, headings)
		}, 20*time.Second, 50*time.Millisecond)
	}
	key := func(name string) {
		require.NoError(t, chromedp.Do(ctx, do(chromedp.Evaluate[any](
			fmt.Sprintf("document.dispatchEvent(new KeyboardEvent('keydown',"+
				" {key: %q})) && null", name)))))
	}
	require.NoError(t, chromedp.Do(ctx,
		chromedp.Navigate(site.URL+"/docs/04-gold.md?slides"), ready()))
	shows("04 Gold: lock and lease in one command")
	key("ArrowRight")
	shows("How it works")
	key("ArrowLeft")
	key("ArrowLeft")
	shows("03 Timestamp: the deadline is the value")

	require.NoError(t, chromedp.Do(ctx,
		chromedp.Navigate(site.URL+"/docs/matrix.md?poster"), ready()))
	parts, err := chromedp.Run(ctx, chromedp.Evaluate[string](
		`Array.from(document.querySelector('main').children).map(
			e => e.tagName).join()`))
	require.NoError(t, err)
	assert.Equal(t, "H1,TABLE", parts)

}

// Pictures of some pages are kept where LOCKLADDER_PICTURES says, to be looked
// at by a person.
func TestPictures(t *testing.T) {
	dir := os.Getenv("LOCKLADDER_PICTURES")
	if dir == "" {
		t.Skip("LOCKLADDER_PICTURES names no directory")
	}
	site := httptest.NewServer(pages.NewSite(os.DirFS("..")))
	defer site.Close()
	ctx := browser(t)
	for _, p := range []struct {
		name, page, theme string
		width             int64
	}{
		{"gold-light", "docs/04-gold.md", "light", 1280},
		{"gold-dark", "docs/04-gold.md", "dark", 1280},
		{"gold-phone", "docs/04-gold.md", "light", 390},
		{"redlock-dark", "docs/14-redlock.md", "dark", 1920},
		{"front-phone-dark", "docs/README.md", "dark", 390},
		{"workshop", "docs/workshop.md", "light", 1280},
		{"exercise-phone", "docs/exercises/06/README.md", "light", 390},
		{"sources", "docs/sources.md", "dark", 1280},
	} {
		require.NoError(t, chromedp.Do(ctx,
			chromedp.EmulateViewport(p.width, 900),
			chromedp.Navigate(site.URL+"/docs/00-before.md"),
			do(chromedp.Evaluate[any](fmt.Sprintf(
				"localStorage.setItem('theme', %q), null", p.theme))),
			chromedp.Navigate(site.URL+"/"+p.page), ready()))
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, p.name+".png"),
			picture, 0o644))
	}
}
