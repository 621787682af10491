package cache

import (
	"fmt"
	"strings"
)

// width of a row's name.
const width = 17

// Head is what stands above the rows.
func Head() string {
	return line("", "", "saw", "saw", "cache", "last", "p50", "p99", "commands") +
		line("lock", "loads", "100", "99", "holds", "s", "ms", "ms", "/request")
}

// Legend explains the heads.
func Legend() string {
	return `loads: of the database; saw: requests that were answered 100, and 99
cache holds: at the end; last: until the last answer; p50, p99: until an answer
commands: from the miss on, with the attempts at the lock
`
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string {
	cached, p50, p99 := "–", "–", "–"
	if r.Cached != nil {
		cached = *r.Cached
	}
	if r.Answer != nil {
		p50 = fmt.Sprintf("%.0f", r.Answer.P50)
		p99 = fmt.Sprintf("%.0f", r.Answer.P99)
	}
	text := line(r.Rung, fmt.Sprint(r.Loads), fmt.Sprint(r.Values["100"]),
		fmt.Sprint(r.Values["99"]), cached, fmt.Sprintf("%.2f", r.Seconds),
		p50, p99, fmt.Sprintf("%.2f", r.CommandsPerRequest))
	if !r.Finished {
		answered := 0
		for _, n := range r.Values {
			answered += n
		}
		text += fmt.Sprintf("  cut off after %.1f s: %d of %d requests were"+
			" answered\n", r.Seconds, answered, r.Requests)
	}
	if r.FirstFailure != nil {
		text += fmt.Sprintf("  requests that failed: %d, the first: %s\n", r.Failures,
			strings.ReplaceAll(*r.FirstFailure, "\n", "; "))
	}
	return text
}

func line(name string, cells ...string) string {
	widths := []int{7, 8, 8, 7, 8, 8, 8, 9}
	text := fmt.Sprintf("%-*s", width, name)
	for i, cell := range cells {
		text += fmt.Sprintf("%*s", widths[i], cell)
	}
	return strings.TrimRight(text, " ") + "\n"
}
