package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
)

// Export writes the site into a directory as plain files with relative links, for
// any static host, and for a browser that opens them from a disk: every document,
// and all that they lead to. It returns how many pages it has written. A directory
// that has files in it is refused. After an error there is none.
func (s *Site) Export(ctx context.Context, dir string) (pages int, err error) {
	switch entries, err := os.ReadDir(dir); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("export: %w", err)
	case len(entries) > 0:
		return 0, fmt.Errorf("%s is not empty: name a directory that is, or one that is not there", dir)
	}
	e := &export{site: s, dir: dir, known: map[string]bool{}, written: map[string]bool{}}
	e.visit(frontPage)
	for _, file := range s.Order() {
		e.visit(file)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir) // half a site is none, and would be in the next one's way
		}
	}()
	for ; len(e.open) > 0; pages++ {
		file := e.open[0]
		if ctx.Err() != nil {
			return pages, fmt.Errorf("export to %s: %w", dir, ctx.Err())
		}
		e.open = e.open[1:]
		if err := e.page(file); err != nil {
			return pages, fmt.Errorf("export %s: %w", file, err)
		}
	}
	return pages, e.assets(ctx)
}

// export is a site on its way into a directory.
type export struct {
	site  *Site
	dir   string
	known map[string]bool
	open  []string // files of the module that are still to be written

	written map[string]bool
}

// exported is the file of a page: the name of a document, or of a run or a level that is
// played, and another file's with one more ending.
func exported(file string) string {
	played := strings.HasPrefix(file, recording.Dir+"/") || strings.HasPrefix(file, LevelDir+"/")
	switch ext := path.Ext(file); {
	case file == frontPage:
		return "index.html"
	case ext == ".md", ext == ".json" && played:
		return strings.TrimSuffix(file, ext) + ".html"
	case ext == ".svg":
		return file
	case ext == "":
		return path.Join(file, "index.html")
	}
	return file + ".html"
}

func (e *export) visit(file string) {
	if !e.known[file] {
		e.known[file] = true
		e.open = append(e.open, file)
	}
}

// get is what the site answers.
func (e *export) get(file string) ([]byte, error) {
	w := httptest.NewRecorder()
	e.site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+file, nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("the site answers with status %d", w.Code)
	}
	return w.Body.Bytes(), nil
}

func (e *export) page(file string) error {
	body, err := e.get(strings.TrimPrefix(file, frontPage)) // which is at the root
	if err != nil {
		return err
	}
	if path.Ext(file) == ".svg" {
		return e.write(file, body)
	}
	if _, why, failed := strings.Cut(string(body), noPlayer); failed {
		why, _, _ = strings.Cut(why, "</p>")
		return errors.New(html.UnescapeString(why))
	}
	text, err := e.relative(file, string(body))
	if err != nil {
		return err
	}
	return e.write(exported(file), []byte(text))
}

// reference is an attribute that leads somewhere.
var reference = regexp.MustCompile(`\b(href|src|data-search|data-worker|data-laboratory)="([^"]*)"`)

// relative rewrites the links of a page, and notes where they lead.
func (e *export) relative(file, body string) (string, error) {
	var failed error
	body = reference.ReplaceAllStringFunc(body, func(found string) string {
		m := reference.FindStringSubmatch(found)
		link, err := url.Parse(html.UnescapeString(m[2]))
		if err != nil {
			failed = err
			return found
		}
		if link.Scheme != "" || link.Path == "" {
			return found
		}
		to, err := e.target(file, link.Path)
		if err != nil {
			failed = err
		}
		link.Path = to
		return fmt.Sprintf("%s=\"%s\"", m[1], html.EscapeString(link.String()))
	})
	return body, failed
}

// target is where a link of a page leads to in the directory, seen from that page.
func (e *export) target(file, link string) (string, error) {
	to := cmp.Or(strings.Trim(link, "/"), frontPage)
	if !strings.HasPrefix(link, "/") {
		to = path.Join(path.Dir(file), link)
	}
	if !strings.HasPrefix(to, "assets/") {
		info, err := fs.Stat(e.site.root, to)
		if err != nil {
			return "", fmt.Errorf("a link leads to %s, which is not there", link)
		}
		if readme := path.Join(to, "README.md"); info.IsDir() {
			if _, err := fs.Stat(e.site.root, readme); err == nil {
				to = readme
			}
		}
		e.visit(to)
		if to = exported(to); info.IsDir() && path.Ext(to) == "" {
			to = path.Join(to, "index.html")
		}
	}
	from, err := filepath.Rel(filepath.FromSlash(path.Dir(exported(file))), filepath.FromSlash(to))
	return filepath.ToSlash(from), err
}

// assets are the site's scripts and styles.
func (e *export) assets(ctx context.Context) error {
	files := map[string][]byte{}
	if e.site.Program != nil {
		made, err := e.site.Program(ctx)
		if err != nil {
			return err
		}
		for name, content := range made {
			files[programDir+name] = content
		}
	}
	entries, err := fs.ReadDir(assets, "assets")
	names := []string{searchFile}
	for _, entry := range entries {
		names = append(names, path.Join("assets", entry.Name()))
	}
	for _, name := range names {
		content, failed := e.get(name)
		files[name], err = content, cmp.Or(err, failed)
	}
	for name, content := range files {
		err = cmp.Or(err, e.write(name, content))
	}
	return err
}

func (e *export) write(name string, content []byte) error {
	if e.written[name] {
		return fmt.Errorf("two pages would be %s", name)
	}
	e.written[name] = true
	to := filepath.Join(e.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
