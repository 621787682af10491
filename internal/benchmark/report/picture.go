package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/lock"
)

// The picture's measures, in pixels.
const (
	pictureWidth = 720
	namesWidth   = 150
	scaleWidth   = 470
	barHeight    = 22
	headHeight   = 48
)

// bar is a row of the picture.
type bar struct {
	Name        string
	Y           int     // of its top
	Length      float64 // of the median
	From, To    float64 // the range of the rounds
	Value, Fill string
}

// tick is a line of the scale.
type tick struct {
	X     float64
	Label string
}

var picture = template.Must(template.New("picture").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" ` +
		`height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" ` +
		`font-family="system-ui, sans-serif" font-size="13">
<rect width="{{.Width}}" height="{{.Height}}" fill="#fff"/>
<text x="8" y="20" font-size="15" fill="#222">{{.Title}}</text>
<text x="8" y="38" font-size="12" fill="#666">{{.Where}}</text>
{{range .Ticks}}<path d="M{{.X}} {{$.Top}}V{{$.Bottom}}" stroke="#ddd"/>
<text x="{{.X}}" y="{{$.Foot}}" text-anchor="middle" fill="#666">{{.Label}}</text>
{{end}}{{range .Bars}}<text x="{{$.Left}}" y="{{.Y}}" dx="-6" dy="15" ` +
		`text-anchor="end" fill="#222">{{.Name}}</text>
<rect x="{{$.Left}}" y="{{.Y}}" width="{{.Length}}" height="16" transform` +
		`="translate(0 3)" fill="{{.Fill}}"/>
<path d="M{{.From}} {{.Y}}H{{.To}}" transform="translate(0 11)" stroke="#222"/>
<text x="{{.To}}" y="{{.Y}}" dx="6" dy="15" fill="#222">{{.Value}}</text>
{{end}}</svg>
`))

// Picture draws the ratios to the serial limit as an SVG: a bar is the median of
// the rounds, the line on it their range, and the scale is logarithmic. Of rows
// with several numbers of clients it shows those with the most.
func Picture(r benchmark.Report, w io.Writer) error {
	const least, most = 0.001, 10.0
	at := func(ratio float64) float64 {
		ratio = min(max(ratio, least), most)
		x := math.Log(ratio/least) / math.Log(most/least) * scaleWidth
		return math.Round(x*10) / 10
	}
	var bars []bar
	clients := 0
	y := headHeight
	for _, row := range greatest(r) {
		if row.RatioToSerial == nil || row.Rung == "serial-limit" {
			continue
		}
		ratios := []float64{*row.RatioToSerial}
		for _, round := range row.Rounds {
			if round.RatioToSerial != nil {
				ratios = append(ratios, *round.RatioToSerial)
			}
		}
		fill := "#4e79a7"
		if row.Kind == benchmark.Baseline {
			fill = "#bab0ac"
		}
		bars = append(bars, bar{
			Name:   row.Rung,
			Y:      y,
			Length: at(*row.RatioToSerial),
			From:   namesWidth + at(slices.Min(ratios)),
			To:     namesWidth + at(slices.Max(ratios)),
			Value:  fmt.Sprintf("%.2g", *row.RatioToSerial) + unlike(row),
			Fill:   fill,
		})
		y += barHeight
		clients = max(clients, row.Clients)
	}
	var ticks []tick
	for _, label := range []string{"0.001", "0.01", "0.1", "1", "10"} {
		var ratio float64
		fmt.Sscan(label, &ratio)
		ticks = append(ticks, tick{namesWidth + at(ratio), label})
	}
	err := picture.Execute(w, map[string]any{
		"Width": pictureWidth, "Height": y + 28, "Left": namesWidth,
		"Top": headHeight, "Bottom": y, "Foot": y + 18,
		"Title": fmt.Sprintf("%d clients, one lock: acquisitions, compared with one "+
			"client that never waits", clients),
		"Where": where(r.Env), "Ticks": ticks, "Bars": bars,
	})
	if err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	return nil
}

// unlike says why a row can't be compared with the others.
func unlike(row benchmark.Row) string {
	text := ""
	if row.LostUpdates > 0 {
		text += ", loses updates"
	}
	usual := float64(lock.DefaultPoll.Milliseconds())
	if row.PollMs != usual && row.Kind != benchmark.Baseline {
		text += fmt.Sprintf(", pauses ≤ %g ms, others ≤ %g", row.PollMs, usual)
	}
	return text
}

// where names the environment in one line.
func where(env benchmark.Env) string {
	words := []string{env.Server}
	if env.ServerVersion != nil {
		words[0] = "Redis " + *env.ServerVersion
	}
	words = append(words, env.Go)
	if env.CPU != nil {
		words = append(words, *env.CPU)
	}
	if env.Pinned != nil {
		words = append(words, "servers and clients on one CPU")
	}
	words = append(words, "logarithmic")
	return template.HTMLEscapeString(strings.Join(words, ", "))
}
