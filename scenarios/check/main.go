// Command check runs all scenarios against a lock in another language, which is a
// program that speaks the protocol of docs/any-language.md:
//
//	go run ./scenarios/check -redis auto -- python3 mylock.py
//
// It starts Redis servers, tries the program out, runs the scenarios that apply,
// several at a time, and prints a verdict for each, with the timeline of what
// breaks. The exit status is 0 when exactly what is declared with -flaws breaks, 1
// when something else does, and 2 when the flags or the program are at fault.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Exit statuses.
const (
	asDeclared = 0
	otherwise  = 1
	unusable   = 2 // the flags or the program
)

// orders are the command line.
type orders struct {
	redis   string
	run     string
	flaws   string
	json    bool
	html    string // the file; "": none
	atOnce  int64  // scenarios
	program []string

	only     []string // the scenarios of run
	declared []lock.Flaw
	chance   []lock.Flaw // what breaks in some runs
}

func main() {
	servers.Sweep()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(asDeclared)
	case err != nil:
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(unusable)
	}
	// The scenarios report to a test. The output of the testing package is
	// nobody's business here.
	out := os.Stdout
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(unusable)
	}
	os.Args = os.Args[:1]
	testing.Init()
	flag.Set("test.timeout", "0")
	status := unusable
	check := func(t *testing.T) {
		status = (&checking{orders: o, out: out,
			log: os.Stderr}).check(t)
	}
	// It ends the process, so the status is passed on by the last clean-up.
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "check", F: func(t *testing.T) {
			t.Run("program", check)
			os.Exit(status) // all clean-ups of check have run
		}}}, nil, nil)
}

// parse reads the command line. Its errors are one line.
func parse(args []string, log io.Writer) (o orders, err error) {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.redis, "redis", "", `"auto" starts Redis servers, and`+
		" `host:port`, or redis://user:password@host:port, uses somebody's; several"+
		" are separated by commas")
	flags.StringVar(&o.run, "run", "", "only the scenarios whose names match this"+
		" regular `expression`")
	flags.StringVar(&o.flaws, "flaws", "", "a `file` with what the lock is known to"+
		` break, "scenario: invariant" a line, with "sometimes" before what breaks in`+
		" some runs only; # begins a comment")
	flags.Int64Var(&o.atOnce, "parallel", 6, "how many `scenarios` run at the same"+
		" time, each with two or three processes of the program")
	flags.BoolVar(&o.json, "json", false, "print the results as JSON instead")
	flags.StringVar(&o.html, "html", "", "also write the results to this `file`, as a"+
		" page on which what breaks can be played step by step")
	flags.Usage = func() {
		fmt.Fprint(log, "usage: check -redis auto [flags] -- PROGRAM [ARGUMENTS]\n\n"+
			"Runs all scenarios against the lock in PROGRAM, see"+
			" docs/any-language.md.\n\n")
		flags.SetOutput(log)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.program = flags.Args()
	if len(o.program) == 0 {
		return o, errors.New("name the program behind the flags, for example: check" +
			" -redis auto -- python3 mylock.py")
	}
	if o.redis == "" {
		return o, errors.New("-redis is missing: -redis auto starts servers")
	}
	if o.atOnce < 1 {
		return o, fmt.Errorf("-parallel %d: one scenario is the least", o.atOnce)
	}
	if err := writable(o.html); err != nil {
		return o, fmt.Errorf("-html %w", err)
	}
	if o.run != "" {
		which, err := regexp.Compile(o.run)
		if err != nil {
			return o, fmt.Errorf("-run %q: %w", o.run, err)
		}
		for _, s := range scenarios.Catalogue {
			if which.MatchString(s.Name) {
				o.only = append(o.only, s.Name)
			}
		}
		if o.only == nil {
			return o, fmt.Errorf("-run %q matches no scenario; docs/matrix.md lists them",
				o.run)
		}
	}
	if o.flaws != "" {
		text, err := os.ReadFile(o.flaws)
		if err != nil {
			return o, fmt.Errorf("-flaws: %w", err)
		}
		if o.declared, o.chance, err = scenarios.ReadFlaws(string(text)); err != nil {
			return o, fmt.Errorf("-flaws %s, %w", o.flaws, err)
		}
	}
	return o, nil
}

// checking is one run of the command.
type checking struct {
	orders
	out, log io.Writer

	lockName string // as the program reports it
	results  []scenarios.Result
	heard    []string // the scenarios that have ended
	failed   []string // scenarios that gave no verdict, and why
}

// check runs the scenarios and returns the exit status.
func (c *checking) check(t *testing.T) int {
	// A test's clean-up would come too late for Ctrl-C.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pool, end, err := servers.Lend(ctx, c.redis)
	if err != nil {
		return c.unusable(err)
	}
	defer func() {
		if err := end(); err != nil {
			fmt.Fprintln(c.log, "check:", err)
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
		return c.unusable(errors.New("it was interrupted"))
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
	began := time.Now()
	if !c.json {
		fmt.Fprintf(c.log, "%s: %s, offers %s\n", p.Name(), c.lockName,
			cmp.Or(strings.Join(p.Features(), ", "), "no features"))
	}
	options := append(scenarios.Offered(p), scenarios.OnServersOf(
		servers.Limited(pool, c.atOnce)),
		scenarios.Flaws(c.declared...), scenarios.Sometimes(c.chance...),
		scenarios.Each(c.hear))
	if c.only != nil {
		options = append(options, scenarios.Only(c.only...))
	}
	done := make(chan struct{})
	go func() { // joined below
		defer close(done)
		t.Run("scenarios", func(t *testing.T) {
			scenarios.Run(t, p.Build, options...)
		})
	}()
	select {
	case <-done:
	case <-p.Failed():
	case <-ctx.Done():
	}
	if err := p.Err(); err != nil {
		return c.unusable(err)
	}
	if ctx.Err() != nil {
		return c.unusable(errors.New("it was interrupted"))
	}
	return c.report(time.Since(began))
}

func (c *checking) unusable(err error) int {
	fmt.Fprintln(c.log, "check:", err)
	return unusable
}

// hear notes what a scenario has brought.
func (c *checking) hear(scenario string, results []scenarios.Result, err error) {
	c.heard = append(c.heard, scenario)
	c.results = append(c.results, results...)
	if err != nil {
		c.failed = append(c.failed, protocol.InWords(fmt.Sprintf("%s: %v", scenario, err)))
	}
	if c.json {
		return
	}
	if err != nil {
		fmt.Fprintf(c.log, "  %-24s no verdict\n", scenario)
	}
	for _, r := range results {
		fmt.Fprintf(c.log, "  %-24s %-22s %s\n", r.Scenario, r.Invariant, r.Verdict)
	}
}

// report prints the results in the order of the catalogue, and writes them to the page.
func (c *checking) report(took time.Duration) int {
	order := map[string]int{}
	for i, s := range scenarios.Catalogue {
		order[s.Name] = i
		if !slices.Contains(c.heard, s.Name) &&
			(c.only == nil || slices.Contains(c.only, s.Name)) {
			c.failed = append(c.failed, s.Name+": it was not run to its end")
		}
	}
	slices.SortStableFunc(c.results, func(a, b scenarios.Result) int {
		return order[a.Scenario] - order[b.Scenario]
	})
	status := c.print(took)
	if c.html != "" {
		if err := c.writeHTML(took); err != nil {
			return c.unusable(err)
		}
	}
	return status
}

// print prints the results, and returns the exit status.
func (c *checking) print(took time.Duration) int {
	if c.json {
		return c.reportJSON()
	}
	new, gone := c.compare()
	if failures := scenarios.Report(c.results).Failures(); failures != "" {
		fmt.Fprintf(c.out, "\n%s", protocol.InWords(failures))
	}
	fmt.Fprintf(c.out, "\n%-24s %-22s %s\n", "scenario", "invariant", "verdict")
	for _, r := range c.results {
		fmt.Fprintf(c.out, "%-24s %-22s %s\n", r.Scenario, r.Invariant,
			verdict(r, new))
	}
	fmt.Fprintf(c.out, "\n%s; %v\n", c.summary(), took.Round(time.Second))
	for _, f := range new {
		fmt.Fprintf(c.out, "not declared: %s: %s\n", f.Scenario, f.Invariant)
	}
	for _, f := range gone {
		fmt.Fprintf(c.out, "declared, but it doesn't break: %s: %s\n", f.Scenario,
			f.Invariant)
	}
	for _, f := range c.failed {
		fmt.Fprintf(c.out, "no verdict: %s\n", f)
	}
	return c.status(new, gone)
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

func (c *checking) status(new, gone []lock.Flaw) int {
	if len(new)+len(gone)+len(c.failed) > 0 {
		return otherwise
	}
	return asDeclared
}

// compare holds the results against the declared flaws. New are flaws that are not
// declared; gone are those that are declared and don't break, although their
// scenario can be run on real servers.
func (c *checking) compare() (new, gone []lock.Flaw) {
	for _, r := range c.results {
		known := slices.Contains(c.declared, flawOf(r))
		switch {
		case r.Verdict == scenarios.Breaks && !known &&
			!slices.Contains(c.chance, flawOf(r)):
			new = append(new, flawOf(r))
		case r.Verdict != scenarios.Breaks && r.Verdict != scenarios.CannotRun && known:
			gone = append(gone, flawOf(r))
		}
	}
	return new, gone
}

func flawOf(r scenarios.Result) lock.Flaw {
	return lock.Flaw{Scenario: r.Scenario, Invariant: r.Invariant}
}

// reportJSON prints an object with the results and what was not as declared.
func (c *checking) reportJSON() int {
	type result struct {
		Scenario  string `json:"scenario"`
		Invariant string `json:"invariant"`
		Verdict   string `json:"verdict"`
		Declared  bool   `json:"declared"`
		Event     string `json:"event,omitempty"`
		Timeline  string `json:"timeline,omitempty"`
	}
	new, gone := c.compare()
	all := struct {
		Program   []string `json:"program"`
		Results   []result `json:"results"`
		NoVerdict []string `json:"no_verdict"`
	}{c.program, []result{}, append([]string{}, c.failed...)}
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
		return c.unusable(fmt.Errorf("print the results: %w", err))
	}
	return c.status(new, gone)
}
