package site

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/lockladder/lockladder/internal/ladder"
)

// frontPage is where the site begins. Its sections are the groups of pages that the list
// beside every page has, and in which the pages are read.
const frontPage = "docs/README.md"

const (
	beforePage    = "docs/0-before.md"
	levelsPage    = "docs/levels.md"
	exercisesPage = "docs/exercises/README.md"
	glossaryPage  = "docs/glossary.md"
)

// group is a section of the front page, with the pages that it links.
type group struct {
	Title string
	Here  bool // it has the page that is shown
	Pages []entry
}

// entry is a page in a list.
type entry struct {
	Path, Title string
	Arc         string // that begins here, or what comes after the arcs
	Here        bool
	Below       []entry // the levels, or the exercises, beside one of them
}

// around fills in what stands around a page: the contents, and the ways on.
func (s *Site) around(p *page) {
	p.URL, p.Ways = s.URL, s.ways(p.File)
	order := s.Order()
	if i := slices.Index(order, p.File); i >= 0 {
		if i > 0 {
			p.Previous = s.entry(order[i-1])
		}
		if i+1 < len(order) {
			p.Next = s.entry(order[i+1])
		}
	}
	for _, g := range s.groups() {
		shown := group{Title: g.title}
		arc := ""
		for _, file := range g.files {
			e := s.entry(file)
			rung, is := rungOf(file)
			begins := cmp.Or(string(rung.Arc), "Beyond")
			if (is || arc != "") && begins != arc {
				arc, e.Arc = begins, begins
			}
			e.Here = file == p.File
			switch {
			case file == levelsPage && (e.Here || strings.HasPrefix(p.File, LevelDir)):
				e.Below = levels(Levels, "")
			case file == exercisesPage && strings.HasPrefix(p.File, path.Dir(file)):
				for _, exercise := range s.exercises() {
					below := s.entry(exercise)
					below.Here = exercise == p.File
					e.Below = append(e.Below, *below)
				}
			}
			shown.Here = shown.Here || e.Here || e.Below != nil
			shown.Pages = append(shown.Pages, *e)
		}
		p.Side = append(p.Side, shown)
	}
}

// entry is a document in a list.
func (s *Site) entry(file string) *entry {
	text, _ := fs.ReadFile(s.root, file)
	title := title(string(text))
	if _, is := rungOf(file); is || file == beforePage {
		title, _, _ = strings.Cut(title, ":") // the rung's name says enough
	}
	return &entry{Path: "/" + strings.TrimPrefix(file, frontPage), Title: title}
}

// levels are those of a lock, or all of them.
func levels(all []Level, lock string) (some []entry) {
	for i, l := range all {
		if lock == "" || l.Lock == lock {
			some = append(some, entry{Title: fmt.Sprintf("Level %d: %s", i+1, l.Title),
				Path: "/" + LevelFile(l.Lock) + "#level=" + strings.ReplaceAll(string(l.Invariant), " ", "-")})
		}
	}
	return some
}

// rungOf is the rung that a page, an exercise or the levels of a lock are about.
func rungOf(file string) (ladder.Rung, bool) {
	i := slices.IndexFunc(ladder.Rungs, func(r ladder.Rung) bool {
		return slices.Contains([]string{r.Page(), exerciseOf(r), LevelFile(r.Name)}, file)
	})
	if i < 0 {
		return ladder.Rung{}, false
	}
	return ladder.Rungs[i], true
}

func exerciseOf(r ladder.Rung) string { return "docs/exercises/" + r.Short() + "/README.md" }

// exercises are in the order of the ladder.
func (s *Site) exercises() (all []string) {
	for _, rung := range ladder.Rungs {
		all = append(all, s.documents(exerciseOf(rung))...)
	}
	return all
}

// ways are the other pages about the rung that a page, an exercise or a level is about. Its
// exercise is none of them: its page shows the solution, and the one before has the link.
func (s *Site) ways(file string) (some []entry) {
	rung, is := rungOf(file)
	if !is {
		return nil
	}
	if pages := s.documents(rung.Page()); len(pages) > 0 && file != rung.Page() {
		some = append(some, *s.entry(rung.Page()))
	}
	if file != LevelFile(rung.Name) {
		some = append(some, levels(Levels, rung.Name)...)
	}
	return append(some, entry{Path: "/" + laboratoryPage + "#rung=" + rung.Name,
		Title: "What if …? The laboratory"}, entry{Path: "/docs/matrix.md#" + rung.Name,
		Title: "All scenarios: the matrix"})
}

// section is a group of documents.
type section struct {
	title string
	files []string
}

// groups are the sections of the front page with the documents that each links, and then
// those that none does.
func (s *Site) groups() (all []section) {
	text, _ := fs.ReadFile(s.root, frontPage)
	rest := append(s.documents("docs/*.md"), s.documents(exercisesPage)...)
	take := func(file string) bool {
		i := slices.Index(rest, file)
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
		return i >= 0
	}
	take(frontPage)
	all = []section{{}}
	d := Parse(string(text))
	d.walk(func(n ast.Node) {
		last := &all[len(all)-1]
		if h, is := n.(*ast.Heading); is && h.Level == 2 {
			all = append(all, section{title: content(h, d.source)})
		}
		if l, is := n.(*ast.Link); is {
			file := path.Join(path.Dir(frontPage), string(l.Destination))
			if take(file) {
				last.files = append(last.files, file)
			}
		}
	})
	all = append(all, section{"More", rest})
	return slices.DeleteFunc(all, func(s section) bool { return len(s.files) == 0 })
}

// Order is the order in which the documents are read: the front page, the others as it
// links them, and the exercises after their contents.
func (s *Site) Order() []string {
	all := s.documents(frontPage)
	for _, g := range s.groups() {
		for _, file := range g.files {
			all = append(all, file)
			if file == exercisesPage {
				all = append(all, s.exercises()...)
			}
		}
	}
	return all
}

// documents are the files of a pattern, but for links that lead nowhere.
func (s *Site) documents(pattern string) []string {
	found, _ := fs.Glob(s.root, pattern)
	return slices.DeleteFunc(found, func(file string) bool {
		_, err := fs.Stat(s.root, file)
		return err != nil
	})
}

var (
	picture  = regexp.MustCompile(`<img src="([^":]+\.svg)"`)
	measures = regexp.MustCompile(`^<svg[^>]* width="(\d+)" height="(\d+)"`)
	besides  = regexp.MustCompile(`(href|src)="([a-z0-9][^":]*)"`)
)

// sized gives the pictures of a document their sizes, so that nothing moves when they
// come.
func (s *Site) sized(file, body string) string {
	return picture.ReplaceAllStringFunc(body, func(img string) string {
		text, _ := fs.ReadFile(s.root, path.Join(path.Dir(file), picture.FindStringSubmatch(img)[1]))
		if m := measures.FindSubmatch(text); m != nil {
			img += fmt.Sprintf(` width="%s" height="%s"`, m[1], m[2])
		}
		return img
	})
}

// front puts the first level of the game above the front page's text, whose sections
// become boxes. A site without levels has none.
func (s *Site) front(p *page) error {
	level, err := s.game(Levels[0].Lock, string(Levels[0].Invariant), true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, text, _ := strings.Cut(string(p.Body), "</h1>")
	text = besides.ReplaceAllString(text, `$1="/docs/$2"`)
	text = strings.ReplaceAll(text, "<h2", "</section>\n<section><h2")
	p.Title, p.Contents, p.Document = "Make this lock unusable in two moves", nil, false
	p.Player, p.Game = true, true
	p.Body, err = element("front", struct {
		Title       string
		Level, Text template.HTML
	}{p.Title, level, template.HTML(text)})
	return err
}
