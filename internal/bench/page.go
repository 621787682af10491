package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page.html
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// WritePage writes a run of the inventory as one page with pictures, which needs
// nothing else: no other file and no network.
func WritePage(r Report, w io.Writer) error {
	var pictures []template.HTML
	for _, p := range Pictures {
		var b strings.Builder
		if err := p.Draw(r, &b); err != nil {
			return err
		}
		pictures = append(pictures, template.HTML(b.String()))
	}
	inRounds := slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Rounds) > 1 })
	table := Layout{Paired: inRounds, Width: 1000} // the page scrolls
	text := table.Head()
	for _, row := range r.Rows {
		text += table.Row(row)
	}
	err := page.Execute(w, map[string]any{"Pictures": pictures, "Env": r.Env,
		"Rows": text + "\n" + table.Legend(), "Paired": inRounds})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
