package pages

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/lockladder/lockladder/internal/pages/levels"
	"github.com/lockladder/lockladder/internal/play"
)

// opened shows the recording of a reader's own lock: a run in the player, or a graph
// as levels.
func (s *Site) opened(w http.ResponseWriter) {
	p := page{File: strings.TrimPrefix(OpenedPath, "/"), Wide: true, Player: true}
	var err error
	if run := s.Opened.Run; run != nil {
		p.Title = run.Lock + ": " + run.Scenario
		p.Body, err = alone(run, s.Opened.Sources)
		p.Body = template.HTML("<h1>"+html.EscapeString(p.Title)+"</h1>\n") + p.Body
	} else {
		p.Title, p.Game = "Be the scheduler: "+s.Opened.Graph.Lock, true
		p.Body, err = game(p.Title, " data-own", s.Opened.Graph,
			levels.Of(s.Opened.Graph), allColored(s.Opened.Sources))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.show(w, http.StatusOK, p)
}

// alone is the HTML element of a player with one run.
func alone(run *play.Run, sources map[string]string) (template.HTML, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "<div class=\"player\" data-lock=\"%s\">\n"+
		"<noscript>The player needs JavaScript.</noscript>\n",
		html.EscapeString(run.Lock))
	one := *run
	one.Beside = nil // the other locks' runs are in other files
	err := attach(&b, "run", one)
	if err == nil {
		err = attach(&b, "sources", allColored(sources))
	}
	b.WriteString("</div>\n")
	return template.HTML(b.String()), err
}

// game is the element that the game's script makes a level of.
func game(title, attributes string, graph *play.Graph, all []levels.Level,
	sources map[string][]string) (template.HTML, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<div class=\"game\"%s>\n"+
		"<noscript>The game needs JavaScript.</noscript>\n", html.EscapeString(title),
		attributes)
	err := attach(&b, "graph", graph)
	if err == nil {
		err = attach(&b, "levels", all)
	}
	if err == nil {
		err = attach(&b, "sources", sources)
	}
	b.WriteString("</div>\n")
	return template.HTML(b.String()), err
}

// attach writes data for a script. JSON from Go has no "<" that could end the element
// that it is in.
func attach(b *strings.Builder, class string, data any) error {
	text, err := json.Marshal(data)
	fmt.Fprintf(b, "<script type=\"application/json\" class=%q>%s</script>\n", class,
		text)
	return err
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
