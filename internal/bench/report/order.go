package report

import (
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"

	"github.com/lockladder/lockladder/internal/bench"
)

// The measures of the squares, in pixels.
const (
	squareSide = 116
	squareStep = 146 // from one square to the next, downwards 24 more
	squaresRow = 4
)

var squares = template.Must(template.New("order").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="600" height="{{.Height}}" ` +
		`viewBox="0 0 600 {{.Height}}" role="img" aria-label="{{.Title}}" ` +
		`font-family="system-ui, sans-serif" font-size="13" fill="#222">
<rect width="600" height="{{.Height}}" fill="#fff"/>
<text x="8" y="22" font-size="18">{{.Title}}</text>
<text x="8" y="42" fill="#555">A dot is an acquisition: to the right when it was asked for, ` +
		`upwards when it was granted.</text>
<text x="8" y="60" fill="#555">First come, first served is the diagonal; a cloud is chance. ` +
		`The percentage: pairs in order.</text>
{{range .Squares}}<g transform="translate({{.X}} {{.Y}})"><text y="-6" font-size="12">{{.Name}}</text>
<rect width="{{$.Side}}" height="{{$.Side}}" fill="none" stroke="#bbb"/>
<path d="{{.Dots}}" stroke="#173f6d" stroke-width="5" stroke-linecap="round"/></g>
{{end}}</svg>
`))

// order draws who was served when: a square for each row that measured it.
func order(r bench.Report, w io.Writer) error {
	type square struct {
		X, Y       int
		Name, Dots string
	}
	var all []square
	clients := 0
	for _, row := range greatest(r) {
		share, service := row.Number("in_order"), row.Numbers("order_of_service")
		if share == nil || len(service) < 2 {
			continue
		}
		var points strings.Builder
		for i, granted := range service {
			fmt.Fprintf(&points, "M%.1f %.1fh0",
				float64(squareSide*i)/float64(len(service)-1),
				squareSide*(1-granted/100))
		}
		rung := path.Base(row.Name())
		all = append(all, square{8 + len(all)%squaresRow*squareStep,
			92 + len(all)/squaresRow*(squareStep+4),
			fmt.Sprintf("%s %.0f %%", rung, 100**share), points.String()})
		clients = max(clients, row.Count("clients"))
	}
	if len(all) == 0 {
		return nil
	}
	err := squares.Execute(w, map[string]any{"Side": squareSide, "Squares": all,
		"Title":  fmt.Sprintf("Who was served when, with %d clients", clients),
		"Height": 92 + (len(all)+squaresRow-1)/squaresRow*(squareStep+4)})
	if err != nil {
		return fmt.Errorf("draw the order of service: %w", err)
	}
	return nil
}
