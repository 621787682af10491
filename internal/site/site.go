// Package site reads the workshop's documents, finds the commands and links that
// they show, and serves them as a site. The packages below it make the documents'
// generated parts.
package site

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/site/recording"
)

//go:embed assets
var assets embed.FS

//go:embed page.html
var pageSource string
var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// front is where the site begins.
const front = "docs/README.md"

// Site serves a module's documents and sources as they stand in its directory:
// Markdown is rendered, code is colored, and a path is the file's own, so that
// relative links lead where they lead in the repository. Where a page has the
// diagram of a run, the run can be played. Nothing is fetched from anywhere else.
type Site struct {
	root fs.FS

	// Program makes the files that a browser needs for the laboratory, by their
	// names: ProgramFile and what starts it. Nil: the site has no laboratory.
	Program func(ctx context.Context) (map[string][]byte, error)

	// Opened is a recording of a reader's own, at OpenedPath. Nil: there is none.
	Opened *recording.File
}

// OpenedPath is the address of what was opened.
const OpenedPath = "/opened"

// NewSite serves the module in that directory.
func NewSite(root fs.FS) *Site { return &Site{root: root} }

// ServeHTTP answers GET and HEAD. Hidden files are not served.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'self'; "+
		"style-src 'self' 'unsafe-inline'; img-src 'self' data:")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	file := strings.Trim(path.Clean(r.URL.Path), "/")
	switch {
	case file == "":
		http.Redirect(w, r, "/"+front, http.StatusFound)
	case file == searchFile:
		index, err := s.search()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(index)
	case strings.HasPrefix(file, programDir):
		s.program(w, r, strings.TrimPrefix(file, programDir))
	case strings.HasPrefix(file, "assets/"):
		if file == workerFile {
			// Only there is WebAssembly compiled, and a lock that a learner writes: a worker
			// has no page and no storage of it. To import the lock as a blob would need as
			// much, and a policy that allows blobs. Nothing may be sent elsewhere, for the
			// lock may have come with a link.
			w.Header().Set("Content-Security-Policy",
				"default-src 'self'; script-src 'self' 'unsafe-eval'")
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, assets, file)
	case s.Opened != nil && "/"+file == OpenedPath:
		s.opened(w)
	case hidden(file):
		s.missing(w, file)
	default:
		s.file(w, r, file)
	}
}

// built are the directories in which other languages' tools put what they build and
// install. The repository doesn't have them.
var built = []string{"node_modules", "target", "__pycache__"}

func hidden(file string) bool {
	return slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || slices.Contains(built, part)
	})
}

// page is what the template shows.
type page struct {
	Title, File    string
	Body           template.HTML
	Previous, Next string    // paths, "" at the ends
	Side           []entry   // the ladder and the other pages
	Contents       []Section // of this page
	Wide           bool      // source code
	Player         bool      // the page has runs to play
	Game           bool      // the page is a level
	Laboratory     bool      // the page runs what a reader asks for
}

// entry is a page in the list beside every page.
type entry struct {
	Path, Title string
	Here        bool
}

// side is that list: the numbered pages, and the others.
func (s *Site) side(here string) ([]entry, error) {
	var list []entry
	for _, file := range s.Order() {
		if strings.HasPrefix(file, "docs/exercises/") && file != "docs/exercises/README.md" {
			continue
		}
		text, err := fs.ReadFile(s.root, file)
		if err != nil {
			return nil, err
		}
		title := title(string(text))
		if name := path.Base(file); name[0] >= '0' && name[0] <= '9' {
			title, _, _ = strings.Cut(title, ":") // the rung's name says enough
		}
		list = append(list, entry{"/" + file, title, file == here})
	}
	return list, nil
}

// title is a page's title. Only its heading is parsed: every page lists all titles.
func title(text string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n# ")
	heading, _, _ := strings.Cut(rest, "\n")
	return Parse("# " + heading).Title()
}

func (s *Site) file(w http.ResponseWriter, r *http.Request, file string) {
	info, err := fs.Stat(s.root, file)
	if err != nil {
		s.missing(w, file)
		return
	}
	if path.Ext(file) == ".svg" { // a picture that a page shows
		http.ServeFileFS(w, r, s.root, file)
		return
	}
	p := page{Title: file, File: file}
	if info.IsDir() {
		readme := path.Join(file, "README.md")
		if _, err := fs.Stat(s.root, readme); err == nil {
			http.Redirect(w, r, "/"+readme, http.StatusFound)
			return
		}
		p.Body, err = s.listing(file)
	} else {
		err = s.fill(&p)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.show(w, http.StatusOK, p)
}

func (s *Site) missing(w http.ResponseWriter, file string) {
	s.show(w, http.StatusNotFound, page{Title: "Not here", File: file,
		Body: template.HTML("<h1>Not here</h1><p>There is no " +
			html.EscapeString(file) + ".</p>")})
}

func (s *Site) show(w http.ResponseWriter, status int, p page) {
	var b bytes.Buffer
	var err error
	if p.Side, err = s.side(p.File); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := pageTemplate.Execute(&b, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// fill renders a file.
func (s *Site) fill(p *page) error {
	content, err := fs.ReadFile(s.root, p.File)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	if path.Ext(p.File) == ".md" {
		d := Parse(text)
		body, err := d.HTML()
		body = s.players(body)
		if err == nil && strings.Contains(body, laboratoryMark) {
			p.Laboratory, p.Wide = true, true
			body, err = s.laboratory(body)
		}
		p.Laboratory = p.Laboratory || s.Program != nil && strings.Contains(body, triedMark)
		p.Player = p.Laboratory || strings.Contains(body, `<div class="player"`)
		p.Title, p.Body = d.Title(), template.HTML(body)
		p.Previous, p.Next = s.neighbors(p.File)
		for _, section := range d.Sections() {
			if section.Level == 2 && section.Anchor != "" {
				p.Contents = append(p.Contents, section)
			}
		}
		return err
	}
	if strings.HasPrefix(p.File, recording.Dir+"/") {
		return s.play(p)
	}
	if strings.HasPrefix(p.File, LevelDir+"/") {
		return s.level(p)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not a text", p.File)
	}
	language := strings.TrimPrefix(path.Ext(p.File), ".")
	p.Wide = true
	p.Body = template.HTML("<h1>" + html.EscapeString(p.File) +
		"</h1>\n<pre class=\"code\"><code>" +
		strings.Join(highlight(language, text), "\n") + "</code></pre>")
	return nil
}

func (s *Site) listing(dir string) (template.HTML, error) {
	entries, err := fs.ReadDir(s.root, dir)
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<ul>\n", html.EscapeString(dir))
	for _, entry := range entries {
		if !hidden(entry.Name()) {
			fmt.Fprintf(&b, "<li><a href=\"/%s\">%s</a></li>\n",
				html.EscapeString(path.Join(dir, entry.Name())),
				html.EscapeString(entry.Name()))
		}
	}
	b.WriteString("</ul>\n")
	return template.HTML(b.String()), err
}

// Order is the order in which the documents are read: the front page, the
// numbered pages, the others as the front page links them, and the exercises.
func (s *Site) Order() []string {
	var numbered, others []string
	for _, page := range s.documents("docs/*.md") {
		switch name := path.Base(page); {
		case page == front:
		case name[0] >= '0' && name[0] <= '9':
			numbered = append(numbered, page)
		default:
			others = append(others, page)
		}
	}
	contents, _ := fs.ReadFile(s.root, front)
	slices.SortStableFunc(others, func(a, b string) int {
		return linked(contents, a) - linked(contents, b)
	})
	all := slices.Concat([]string{front}, numbered, others)
	for _, pattern := range []string{"docs/exercises/*.md",
		"docs/exercises/*/*.md"} {
		all = append(all, s.documents(pattern)...)
	}
	return all
}

// linked is where the contents link a page beside them.
func linked(contents []byte, page string) int {
	if at := bytes.Index(contents, []byte("]("+path.Base(page)+")")); at >= 0 {
		return at
	}
	return len(contents)
}

// documents are the files of a pattern, but for links that lead nowhere.
func (s *Site) documents(pattern string) []string {
	found, _ := fs.Glob(s.root, pattern)
	return slices.DeleteFunc(found, func(file string) bool {
		_, err := fs.Stat(s.root, file)
		return err != nil
	})
}

func (s *Site) neighbors(file string) (previous, next string) {
	order := s.Order()
	i := slices.Index(order, file)
	if i > 0 {
		previous = "/" + order[i-1]
	}
	if i >= 0 && i+1 < len(order) {
		next = "/" + order[i+1]
	}
	return previous, next
}
