package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// checking is one run of the command.
type checking struct {
	orders
	out, log io.Writer

	at   atomic.Value // how far it is, a string
	wipe func()       // removes the line that says so

	lockName string // as the program reports it
	results  []scenarios.Result
	heard    []string // the scenarios that have ended
	failed   []string // scenarios that gave no verdict, and why

	undeclared []lock.Flaw // break, and are not declared
	unbroken   []lock.Flaw // are declared, and don't break
	missed     bool        // the challenge
}

// check runs the scenarios and returns the exit status.
func (c *checking) check(t *testing.T) int {
	// A test's clean-up would come too late for Ctrl-C.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.progress("trying the program out")
	pool, end, err := servers.Lend(ctx, c.redis)
	if err != nil {
		return c.unusable(err)
	}
	defer func() {
		if err := end(); err != nil {
			c.unusable(err)
		}
	}()
	lent, err := pool.Borrow(ctx, 1)
	if err != nil {
		return c.unusable(err)
	}
	user, password := lent[0].Auth()
	p, err := protocol.Find(ctx, lent[0].Addr(), user, password, c.program...)
	pool.Return(lent)
	if ctx.Err() != nil {
		return c.unusable(ctx.Err())
	}
	if errors.Is(err, protocol.ErrUnfit) && c.challenge > 0 {
		return c.unfit(err)
	}
	if err != nil {
		return c.unusable(err)
	}
	defer p.Close()
	if lent, err = pool.Borrow(ctx, p.Nodes()); err != nil {
		return c.unusable(fmt.Errorf("the lock needs %d servers: %w", p.Nodes(), err))
	}
	pool.Return(lent)
	c.lockName = cmp.Or(p.Library(), "a lock without a name")
	c.wipe()
	if !c.json {
		fmt.Fprintf(c.log, "%s: %s, offers %s\n", p.Name(), c.lockName,
			cmp.Or(strings.Join(p.Features(), ", "), "no features"))
	}
	began := c.progress(fmt.Sprintf("0 of %d", len(c.only)))
	options := append(scenarios.Offered(p), scenarios.OnServersOf(
		servers.Limited(pool, c.atOnce)),
		scenarios.Flaws(c.declared...), scenarios.Sometimes(c.chance...),
		scenarios.Each(c.hear), scenarios.Only(c.only...))
	done := make(chan struct{})
	go func() { // joined below
		defer close(done)
		t.Run("scenarios", func(t *testing.T) { scenarios.Run(t, p.Build, options...) })
	}()
	select {
	case <-done:
	case <-p.Failed():
	case <-ctx.Done():
	}
	switch err := p.Err(); {
	case err != nil:
		return c.unusable(err)
	case ctx.Err() != nil:
		return c.unusable(ctx.Err())
	}
	c.wipe()
	return c.report(time.Since(began))
}

// unusable says why there is no result, and returns the exit status.
func (c *checking) unusable(err error) int {
	c.wipe()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.log, "check: interrupted (%v)\n", c.at.Load())
		return terminal.Interrupted
	}
	terminal.Say(c.log, "check: %v", err)
	return terminal.Usage
}

// progress shows how far the check is, and how long that has taken.
func (c *checking) progress(at string) (began time.Time) {
	began = time.Now()
	c.at.Store(at)
	c.wipe = terminal.Progress(c.log, func() string {
		return fmt.Sprintf("%v, %v", c.at.Load(), time.Since(began).Round(time.Second))
	})
	return began
}

// hear notes what a scenario has brought.
func (c *checking) hear(scenario string, results []scenarios.Result, err error) {
	c.heard = append(c.heard, scenario)
	left := slices.DeleteFunc(slices.Clone(c.only), func(name string) bool { return slices.Contains(c.heard, name) })
	at := fmt.Sprintf("%d of %d", len(c.heard), len(c.only))
	c.at.Store(at + ", waiting for " + append(left, "programs to end")[0])
	at += ": " + scenario
	for _, r := range results {
		if r.Verdict == scenarios.Breaks && c.challenge == 0 {
			at += ", breaks: " + r.Invariant
		}
		r.Event, r.Timeline = protocol.InWords(r.Event), protocol.InWords(r.Timeline)
		c.results = append(c.results, r)
	}
	if err != nil {
		c.failed = append(c.failed, protocol.InWords(terminal.Keys(fmt.Sprintf("%s: %v", scenario, err))))
		at += ", no verdict"
	}
	if !c.json {
		terminal.Step(c.log, at)
	}
}

// report prints the results in the order of the catalogue, writes them to the page, and
// returns the exit status.
func (c *checking) report(took time.Duration) int {
	order := map[string]int{}
	for i, name := range c.only {
		order[name] = i
		if !slices.Contains(c.heard, name) {
			c.failed = append(c.failed, name+": it was not run to its end")
		}
	}
	slices.SortStableFunc(c.results, func(a, b scenarios.Result) int {
		return order[a.Scenario] - order[b.Scenario]
	})
	c.compare()
	var err error
	switch {
	case c.challenge > 0:
		c.answer()
	case c.json:
		err = c.printJSON()
	default:
		c.print(took)
	}
	if err == nil && c.html != "" {
		err = c.writeHTML(took)
	}
	switch {
	case err != nil:
		return c.unusable(err)
	case c.missed, c.challenge == 0 && len(c.undeclared)+len(c.unbroken)+len(c.failed) > 0:
		return terminal.Failed
	}
	return terminal.OK
}

// compare holds the results against the declared flaws. A flaw whose scenario can't be
// run on real servers is not missed.
func (c *checking) compare() {
	for _, r := range c.results {
		flaw, known := flawOf(r), slices.Contains(c.declared, flawOf(r))
		switch {
		case r.Verdict == scenarios.Breaks && !known && !slices.Contains(c.chance, flaw):
			c.undeclared = append(c.undeclared, flaw)
		case r.Verdict != scenarios.Breaks && r.Verdict != scenarios.CannotRun && known:
			c.unbroken = append(c.unbroken, flaw)
		}
	}
}

func flawOf(r scenarios.Result) lock.Flaw {
	return lock.Flaw{Scenario: r.Scenario, Invariant: r.Invariant}
}

const legend = history.Legend + "Times are scaled to a lease of 10 s. The real one is 3 s or longer: EX 3, PX 3000.\n"

// print prints the results for a person.
func (c *checking) print(took time.Duration) {
	failures := scenarios.Report(c.results).Failures()
	if c.grade() != nil {
		failures = scenarios.Report(c.results).Brief()
	}
	if failures != "" {
		fmt.Fprintf(c.out, "\n%s\n%s", legend, protocol.InWords(failures))
	}
	fmt.Fprintf(c.out, "\n%-25s %-22s %s\n", "scenario", "invariant", "verdict")
	for _, r := range c.results {
		fmt.Fprintf(c.out, "%-25s %-22s %s\n", r.Scenario, r.Invariant,
			strings.Replace(c.verdict(r), ": ", ":\n  ", 1))
	}
	lines := []string{fmt.Sprintf("%s; %v", c.summary(), took.Round(time.Second))}
	if c.grade() != nil {
		lines = append(lines, "random worlds aren't played: a program has no virtual time, see docs/swarm.md")
	}
	fmt.Fprintln(c.out)
	for _, line := range slices.Concat(lines, c.unlikeDeclared(), c.withoutVerdict()) {
		fmt.Fprintln(c.out, strings.Join(terminal.Wrap(line, 79, 2), "\n"))
	}
	if g := c.grade(); g != nil {
		fmt.Fprintf(c.out, "\n%s\nFor all that happens in a scenario, add its name: -run '^NAME$'.\n", g)
	}
}

// grade is the lock's, or nil where a scenario was left out: by -run, or since no scenario can
// be run with the lock.
func (c *checking) grade() *scenarios.Grade {
	if len(c.heard) < len(scenarios.Catalogue) {
		return nil
	}
	g := scenarios.Report(c.results).Grade()
	return &g
}

// verdict is a result's, with what must be known of it.
func (c *checking) verdict(r scenarios.Result) string {
	switch {
	case r.Verdict == scenarios.Breaks && !slices.Contains(c.undeclared, flawOf(r)):
		return string(r.Verdict) + ", as declared"
	case r.Verdict == scenarios.CannotRun:
		return string(r.Verdict) + ": " + r.Event
	}
	return string(r.Verdict)
}

// summary counts the verdicts.
func (c *checking) summary() string {
	counts := map[scenarios.Verdict]int{}
	for _, r := range c.results {
		counts[r.Verdict]++
	}
	text := fmt.Sprintf("%d hold, %d break, %d don't arise, %d not offered, %d can't"+
		" be run on real servers", counts[scenarios.Holds], counts[scenarios.Breaks],
		counts[scenarios.DoesNotArise], counts[scenarios.NotOffered],
		counts[scenarios.CannotRun])
	if len(c.failed) > 0 {
		text += fmt.Sprintf(", %d without a verdict", len(c.failed))
	}
	return text
}

// unlikeDeclared has a line for each result that is not as declared.
func (c *checking) unlikeDeclared() (lines []string) {
	for _, f := range c.undeclared {
		lines = append(lines, "not declared: "+f.Scenario+": "+f.Invariant)
	}
	for _, f := range c.unbroken {
		lines = append(lines, "declared, but it doesn't break: "+f.Scenario+": "+f.Invariant)
	}
	return lines
}

// withoutVerdict has a line for each scenario that gave none.
func (c *checking) withoutVerdict() (lines []string) {
	for _, f := range c.failed {
		lines = append(lines, "no verdict: "+f)
	}
	return lines
}

// printJSON prints an object with the results and what was not as declared.
func (c *checking) printJSON() error {
	type result struct {
		Scenario  string `json:"scenario"`
		Invariant string `json:"invariant"`
		Verdict   string `json:"verdict"`
		Declared  bool   `json:"declared"`
		Event     string `json:"event,omitempty"`
		Timeline  string `json:"timeline,omitempty"`
	}
	all := struct {
		Program   []string         `json:"program"`
		Grade     *scenarios.Grade `json:"grade,omitempty"`
		Results   []result         `json:"results"`
		NoVerdict []string         `json:"no_verdict"`
	}{c.program, c.grade(), []result{}, append([]string{}, c.failed...)}
	for _, r := range c.results {
		one := result{r.Scenario, r.Invariant, string(r.Verdict),
			slices.Contains(slices.Concat(c.declared, c.chance), flawOf(r)), r.Event, ""}
		if r.Verdict == scenarios.Breaks {
			one.Timeline = r.Timeline
		}
		all.Results = append(all.Results, one)
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("print the results: %w", err)
	}
	return nil
}
