package site

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/site/recording"
)

//go:embed page.html
var pageSource string
var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// page is what the template shows.
type page struct {
	Title, File    string
	About          string // a sentence or two
	URL            string // the site's own, for the picture of a shared link
	Body           template.HTML
	Previous, Next *entry    // nil at the ends
	Side           []group   // the contents of the site
	Ways           []entry   // what belongs to the page
	Contents       []Section // of this page
	Document       bool      // it can be shown as slides
	Wide           bool      // source code
	Player         bool      // the page has runs to play
	Game           bool      // the page is a level
	Laboratory     bool      // the page runs what a reader asks for
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
			html.EscapeString(file) + `. Search above, or <a href="/">begin at the first page</a>.</p>`)})
}

func (s *Site) show(w http.ResponseWriter, status int, p page) {
	var b bytes.Buffer
	s.around(&p)
	if err := pageTemplate.Execute(&b, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, status, "text/html", b.Bytes())
}

func answer(w http.ResponseWriter, status int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
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
		sections := d.Sections(p.File == glossaryPage)
		body, err := d.HTML()
		body = s.players(body)
		if err == nil && strings.Contains(body, laboratoryMark) {
			p.Laboratory, p.Wide = true, true
			body, err = s.laboratory(body)
		}
		p.Laboratory = p.Laboratory || s.Program != nil && strings.Contains(body, triedMark)
		p.Player = p.Laboratory || strings.Contains(body, `<div class="player"`)
		p.Title, p.Body, p.Document = d.Title(), template.HTML(s.sized(p.File, body)), p.File != "docs/workshop.md" && p.File != laboratoryPage
		for i, section := range sections {
			if i == 0 {
				p.About = excerpt(section.Text)
			}
			if section.Level == 2 && !section.Term {
				p.Contents = append(p.Contents, section)
			}
		}
		if p.File == frontPage && err == nil {
			return s.front(p)
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
	p.Body = template.HTML("<h1>" + html.EscapeString(p.File) + "</h1>\n<pre class=\"code\"><code>" +
		strings.Join(highlight(language, text), "\n") + "</code></pre>")
	return nil
}

func (s *Site) listing(dir string) (template.HTML, error) {
	entries, err := fs.ReadDir(s.root, dir)
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<ul>\n", html.EscapeString(dir))
	for _, entry := range entries {
		if !hidden(entry.Name()) {
			fmt.Fprintf(&b, "<li><a href=\"/%s\">%s</a></li>\n", html.EscapeString(path.Join(dir, entry.Name())),
				html.EscapeString(entry.Name()))
		}
	}
	b.WriteString("</ul>\n")
	return template.HTML(b.String()), err
}
