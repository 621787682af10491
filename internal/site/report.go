package site

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
)

//go:embed report.html
var reportText string
var reportPage = template.Must(template.New("report").Parse(reportText))

// Report is the result of a check of a lock, as a page that is one file: nothing in
// it is fetched. The runs that break an invariant can be played step by step.
type Report struct {
	Title     string
	About     []string // a paragraph each
	NoVerdict []string // why scenarios gave no verdict, perhaps with their timelines
	Verdicts  []Verdict
	Broken    []*recording.Run
}

// Verdict is a row of a report.
type Verdict struct{ Scenario, Invariant, Verdict string }

// reported is a run on a report.
type reported struct {
	*recording.Run
	Anchor string
	Player template.HTML
}

// Write writes the page.
func (r Report) Write(w io.Writer) error {
	text := map[string]string{}
	for _, name := range []string{"style.css", "theme.js", "player.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
		text[name] = string(content)
	}
	var runs []reported
	for _, run := range r.Broken {
		player, err := alone(run, nil)
		if err != nil {
			return fmt.Errorf("write the run of %s: %w", run.Scenario, err)
		}
		runs = append(runs, reported{run, strings.ReplaceAll(run.Scenario+"-"+run.Invariant, " ", "-"), player})
	}
	err := reportPage.Execute(w, struct {
		Report
		Runs          []reported
		Style         template.CSS
		Theme, Script template.JS
	}{r, runs, template.CSS(text["style.css"]), template.JS(text["theme.js"]),
		template.JS(text["player.js"])})
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	return nil
}
