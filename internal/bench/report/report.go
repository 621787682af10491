// Package report writes a run of the benchmark as one page with charts. The page
// needs nothing else: no other file and no network.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
)

//go:embed page.html
var source string

var page = template.Must(template.New("page").Parse(source))

// Write writes the page.
func Write(r bench.Report, w io.Writer) error {
	var pictures []template.HTML
	for _, p := range Pictures {
		var b strings.Builder
		if err := p.Draw(r, &b); err != nil {
			return err
		}
		if b.Len() > 0 {
			pictures = append(pictures, template.HTML(b.String()))
		}
	}
	err := page.Execute(w, map[string]any{
		"Pictures": pictures,
		"Facts":    facts(r.Env),
		"Rows":     text(r),
		"Paired":   paired(r),
	})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// fact is a line about the environment.
type fact struct{ Name, Value string }

func facts(env bench.Env) []fact {
	all := []fact{{"Server", env.Server}}
	add := func(name, format string, value ...any) {
		all = append(all, fact{name, fmt.Sprintf(format, value...)})
	}
	if env.ServerVersion != nil {
		all[0].Value += " " + *env.ServerVersion
	}
	if env.Server == "miniredis" {
		all[0].Value += ", in the clients' process"
	}
	if n := len(env.Addresses); n > 1 {
		all[0].Value += fmt.Sprintf(", %d servers", n)
	}
	add("Go", "%s %s/%s", env.Go, env.OS, env.Arch)
	cpu := fmt.Sprint(env.CPUs)
	if env.CPU != nil {
		cpu += " × " + *env.CPU
	}
	if env.Pinned != nil {
		cpu += fmt.Sprintf("; servers and clients on CPU %d", *env.Pinned)
	}
	add("CPUs", "%s", cpu)
	if env.Commit != nil {
		add("Commit", "%s", *env.Commit)
	}
	add("Connections", "%d a process, warmed up", env.Pool)
	add("Lease", "%g ms", env.TTLms)
	if env.RTTms > 0 {
		add("Added to every round trip", "%g ms", env.RTTms)
	}
	if env.Seed != nil {
		add("Seed", "%d", *env.Seed)
	}
	if env.PeakMemoryMB != nil {
		add("Peak memory of the clients", "%g MB", *env.PeakMemoryMB)
	}
	return all
}

// paired says whether rows were measured in rounds.
func paired(r bench.Report) bool {
	return slices.ContainsFunc(r.Rows, func(row bench.Row) bool {
		return len(row.Rounds) > 1
	})
}

// text is the table that the command prints.
func text(r bench.Report) string {
	table := bench.Layout{
		Paired: paired(r),
		Width:  1000, // the page scrolls
	}
	var b strings.Builder
	b.WriteString(table.Head())
	for _, row := range r.Rows {
		b.WriteString(table.Row(row))
	}
	b.WriteString("\n" + table.Legend())
	return b.String()
}
