package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages"
	"github.com/lockladder/lockladder/internal/play"
)

// A mistake gets one line that says what would be right.
func TestBadArgumentsGetOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	other := filepath.Join(dir, "benchmark.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"schema": 2}`), 0o644))
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no port", []string{"-addr", "localhost"}, usage,
			`-addr "localhost" is not host:port, such as 127.0.0.1:8080`},
		{"an empty address", []string{"-addr", ""}, usage, "is not host:port"},
		{"a port that is a word", []string{"-addr", "127.0.0.1:web"}, usage,
			"it must be a number from 0 to 65535"},
		{"a port that is too high", []string{"-addr", ":70000"}, usage,
			"it must be a number from 0 to 65535"},
		{"an argument", []string{"gold"}, usage, `unexpected argument "gold"`},
		{"an unknown flag", []string{"-port", "80"}, usage, "-port"},
		{"a port in use", []string{"-addr", taken.Addr().String()}, failed,
			"serve on " + taken.Addr().String()},
		{"an address of somebody else", []string{"-addr", "192.0.2.1:8080"},
			failed, "serve on 192.0.2.1:8080"},
		{"a file that is not there", []string{"-open", filepath.Join(dir, "none.json")},
			failed, "none.json: no such file or directory"},
		{"a directory for a file", []string{"-open", dir}, failed, "is a directory"},
		{"no recording", []string{"-open", other}, failed,
			"it is no recording: scenarios.Record and explore.Record write them"},
		{"-open with -export", []string{"-open", other, "-export", dir}, usage,
			"-open shows a file on the site that is served here"},
		{"-open with -generate", []string{"-open", other, "-generate"}, usage,
			"neither with -export nor with -generate"},
		{"an export over other files", []string{"-export", dir}, failed,
			"is not empty: name a directory that is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, err bytes.Buffer
			status := run(t.Context(), c.args, &out, &err)
			assert.Equal(t, c.status, status)
			assert.Empty(t, out.String())
			assert.Equal(t, 1, strings.Count(err.String(), "\n"), err.String())
			assert.Contains(t, err.String(), c.says)
		})
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing was written")
}

// said is where the site's first line is waited for.
type said struct {
	mu   sync.Mutex
	text strings.Builder
	line chan string
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if line, _, ok := strings.Cut(s.text.String(), "\n"); ok {
		select {
		case s.line <- line:
		default:
		}
	}
	return len(p), nil
}

// serving serves on a free port, and returns the address in the first line that is
// printed. End interrupts it and waits.
func serving(t *testing.T, args ...string) (address string, end func()) {
	ctx, interrupt := context.WithCancel(t.Context())
	out := &said{line: make(chan string, 1)}
	var errs bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), out, &errs)
	}()
	line := <-out.line
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+\S*`).FindString(line)
	require.NotEmpty(t, address, line)
	return address, func() {
		interrupt()
		select {
		case s := <-status:
			assert.Equal(t, ok, s)
		case <-time.After(10 * time.Second):
			t.Fatal("it does not end")
		}
		assert.Empty(t, errs.String())
	}
}

func TestItServesUntilItIsInterrupted(t *testing.T) {
	address, end := serving(t)
	response, err := http.Get(address)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "/docs/README.md", response.Request.URL.Path)
	assert.Contains(t, string(body), "<h1 id=\"the-workshop\">The workshop</h1>")

	end()
	_, err = http.Get(address)
	assert.Error(t, err, "nobody answers any more")
}

func TestTheSiteServesThisModuleAndNothingElse(t *testing.T) {
	site := pages.NewSite(os.DirFS(".."))
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/docs/04-gold.md", 200, `<pre class="mermaid">sequenceDiagram`},
		{"GET", "/docs/04-gold.md", 200, `<th>silver/lock.go</th><th>gold/lock.go</th>`},
		{"GET", "/docs/04-gold.md", 200, `href="/docs/05-script.md"`},
		{"GET", "/gold/lock.go", 200, `<span class="keyword">func</span>`},
		{"GET", "/diamond/release.lua", 200, `<span class="comment">-- KEYS[1]`},
		{"GET", "/docs/benchmark.svg", 200, "<svg"},
		{"GET", "/scenarios", 200, `<a href="/scenarios/crash.go">`},
		{"GET", "/docs/exercises", 302, ""},
		{"GET", "/assets/mermaid.js", 200, "mermaid"},
		{"GET", "/nothing.md", 404, "There is no nothing.md."},
		{"GET", "/<script>", 404, "&lt;script&gt;"},
		{"GET", "/.git/config", 404, "There is no"},
		{"GET", "/docs/../../etc/passwd", 404, "There is no"},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "There is no"},
		{"POST", "/docs/README.md", 405, "only GET"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
			assert.Equal(t, c.status, w.Code)
			assert.Contains(t, w.Body.String(), c.says)
		})
	}
}

func TestTheSiteLeavesOutWhatOtherToolsHaveBuilt(t *testing.T) {
	site := pages.NewSite(fstest.MapFS{
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

// writeRun writes a recording of one entry.
func writeRun(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "whole.json")
	require.NoError(t, (&play.File{Run: &play.Run{Lock: "mine", Scenario: "nested",
		Broken: -1, Clients: []string{"A"}, Texts: []string{""}, Lines: []string{""},
		States: make([]play.State, 1), Entries: []play.Entry{{}}}}).Write(file))
	return file
}

func TestARecordingHasAnAddress(t *testing.T) {
	address, end := serving(t, "-open", writeRun(t))
	response, err := http.Get(address)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, pages.OpenedPath, response.Request.URL.Path)
	end()
}
