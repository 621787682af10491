package locktest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/scenarios"
)

// Digest is a line that stands for all timelines of a rung, and for what a timeline
// shows of each entry: two reports with the same line went the same way, to the byte.
func Digest(rung string, report scenarios.Report) string {
	sum := sha256.New()
	for _, r := range report {
		fmt.Fprintf(sum, "%s: %s\n%s\n", r.Scenario, r.Invariant, r.Timeline)
		for _, e := range r.Sequence {
			fmt.Fprintf(sum, "%+v\n", columns{e.At, e.Client, e.Node, e.Text, e.Reply,
				e.Command, e.Owner, e.Inside})
		}
	}
	return fmt.Sprintf("%x  %s\n", sum.Sum(nil), rung)
}

// columns are what a timeline shows of an entry.
type columns struct {
	At     time.Duration
	Client string
	Node   int
	Text   string
	Reply  string

	Command string
	Owner   string
	Inside  []string
}
