package imports

import (
	"fmt"
	"strings"
)

// width of a row's name.
const width = 17

// Head is what stands above the rows.
func Head() string {
	return line("", "", "", "", "done", "over-", "out of", "started", "", "tasks") +
		line("lock", "groups", "done", "lost", "twice", "lapped", "order", "again",
			"s", "/s")
}

// Legend explains the heads.
func Legend() string {
	return `lost: not done, and in no queue or slot; done twice: tasks that ended twice
overlapped: starts while another task of the group was worked on
out of order: ends after the end of a later task; started again: starts of a task
that had been started before, after its worker died or its work failed
`
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string {
	text := line(r.Rung, fmt.Sprint(r.Groups), fmt.Sprint(r.Done),
		fmt.Sprint(r.Lost), fmt.Sprint(r.DoneTwice), fmt.Sprint(r.Overlapped),
		fmt.Sprint(r.OutOfOrder), fmt.Sprint(r.StartedAgain),
		fmt.Sprintf("%.2f", r.Seconds), fmt.Sprintf("%.0f", r.TasksPerSecond))
	note := func(n int, format string, args ...any) {
		if n > 0 {
			text += "  " + fmt.Sprintf(format, args...) + "\n"
		}
	}
	if !r.Finished {
		note(1, "cut off after %.1f s: %d of %d tasks were done; in a queue or a"+
			" slot: %d", r.Seconds, r.Done, r.Tasks, r.Left)
	}
	note(r.Killed, "workers that were killed: %d", r.Killed)
	note(r.Refused, "ends that came too late and did not count: %d", r.Refused)
	note(r.AgainUnforced, "starts again without a reason: %d", r.AgainUnforced)
	if r.FirstFailure != nil {
		note(1, "workers that ended by themselves: %d, the first: %s", r.Failures,
			strings.ReplaceAll(*r.FirstFailure, "\n", "; "))
	}
	return text
}

func line(name string, cells ...string) string {
	widths := []int{7, 7, 6, 6, 7, 7, 8, 7, 7}
	text := fmt.Sprintf("%-*s", width, name)
	for i, cell := range cells {
		text += fmt.Sprintf("%*s", widths[i], cell)
	}
	return strings.TrimRight(text, " ") + "\n"
}
