package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// writeHTML writes the results as a page.
func (c *checking) writeHTML(took time.Duration) error {
	which := "All scenarios"
	if c.run != "" {
		which = "The scenarios that match " + c.run
	}
	page := site.Report{
		Title: "A check of " + c.lockName,
		About: []string{"The program: " + strings.Join(c.program, " "),
			fmt.Sprintf("%s ran on real servers, in %v, on %s.", which,
				took.Round(time.Second), time.Now().Format(time.DateOnly)),
			c.summary(), "The times are those of the summaries, in which a lease has ten" +
				" seconds: the lock's own lasts three."},
	}
	if g := c.grade(); g != nil {
		page.About = append(g.Sentences(c.lockName), page.About...)
	}
	for _, line := range c.unlikeDeclared() {
		page.About = append(page.About, strings.ToUpper(line[:1])+line[1:])
	}
	page.NoVerdict = c.withoutVerdict()
	for _, r := range c.results {
		page.Verdicts = append(page.Verdicts, site.Verdict{Scenario: r.Scenario,
			Invariant: r.Invariant, Verdict: c.verdict(r)})
		if r.Verdict == scenarios.Breaks && len(r.Sequence) > 0 {
			run := r.Recording(c.lockName)
			run.Summary = protocol.InWords(run.Summary)
			page.Broken = append(page.Broken, run)
		}
	}
	return recording.Replace(c.html, page.Write)
}
