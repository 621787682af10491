package site

import (
	_ "embed"
	"html"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
)

// opened shows the recording of a reader's own lock: a run in the player, or a graph
// as levels.
func (s *Site) opened(w http.ResponseWriter) {
	p := page{File: strings.TrimPrefix(OpenedPath, "/"), Wide: true, Player: true}
	var err error
	if run := s.Opened.Run; run != nil {
		p.Title = run.Lock + ": " + run.Scenario
		p.Body, err = alone(run, s.Opened.Sources)
	} else {
		p.Title, p.Game = "Be the scheduler: "+s.Opened.Graph.Lock, true
		p.Body, err = element("game", game{"", false, true, s.Opened.Graph,
			levelsOf(s.Opened.Graph), allColored(s.Opened.Sources)})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.Body = template.HTML("<h1>"+html.EscapeString(p.Title)+"</h1>\n") + p.Body
	s.show(w, http.StatusOK, p)
}

//go:embed elements.html
var elementsText string
var elements = template.Must(template.New("elements").Parse(elementsText))

// element is one that a script of the site finds on a page, with the data that it needs.
func element(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := elements.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// player is the data of the element that the player's script makes a player of.
type player struct {
	Lock       string
	Laboratory string // where it leads to; "": nowhere
	Runs       []any
	Sources    map[string][]string
}

// game is the data of the element that the game's script makes a level of.
type game struct {
	Level   string // the invariant that it begins with; "": the address has it
	Small   bool
	Own     bool // it is a reader's own lock
	Graph   *recording.Graph
	Levels  []Level
	Sources map[string][]string
}

// alone is the HTML element of a player with one run.
func alone(run *recording.Run, sources map[string]string) (template.HTML, error) {
	one := *run
	one.Beside = nil // the other locks' runs are in other files
	return element("player", player{Lock: run.Lock, Runs: []any{one}, Sources: allColored(sources)})
}

// allColored are files as lines of HTML.
func allColored(sources map[string]string) map[string][]string {
	files := map[string][]string{}
	for name, text := range sources {
		files[name] = colored(name, text)
	}
	return files
}

// colored is a file as lines of HTML.
func colored(name, text string) []string {
	return highlight(strings.TrimPrefix(path.Ext(name), "."),
		strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"))
}
