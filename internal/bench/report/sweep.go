package report

import (
	"fmt"
	"slices"

	"github.com/lockladder/lockladder/internal/bench"
)

// names are those of the rows, each once, in the order of the table.
func names(rows []bench.Row) []string {
	var all []string
	for _, row := range rows {
		if !slices.Contains(all, row.Name()) {
			all = append(all, row.Name())
		}
	}
	return all
}

// sweep is what was varied: the number of clients, or else the pause.
type sweep struct {
	name   string
	values []string
	of     func(bench.Row) string
}

func swept(rows []bench.Row) sweep {
	clients := sweep{name: "clients", of: func(r bench.Row) string {
		return fmt.Sprint(r.Count("table_clients"))
	}}
	polls := sweep{name: "longest pause, ms",
		of: func(r bench.Row) string { return fmt.Sprintf("%g", *r.Number("poll_ms")) }}
	for i := range 2 {
		s := []*sweep{&clients, &polls}[i]
		for _, row := range rows {
			if v := s.of(row); !slices.Contains(s.values, v) {
				s.values = append(s.values, v)
			}
		}
	}
	// On embedded servers the pause depends on the number of nodes too.
	if len(clients.values) == 1 && len(polls.values) > 1 &&
		len(rows) == len(polls.values)*len(names(rows)) {
		return polls
	}
	return clients
}

// greatest are the rows with the most clients, which charts show of a sweep
// where one number of clients is enough.
func greatest(r bench.Report) []bench.Row {
	s := swept(r.Rows)
	last := ""
	if len(s.values) > 0 {
		last = s.values[len(s.values)-1]
	}
	var rows []bench.Row
	for _, row := range r.Rows {
		if s.of(row) == last {
			rows = append(rows, row)
		}
	}
	return rows
}
