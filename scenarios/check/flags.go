package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// orders are the command line.
type orders struct {
	redis  string
	run    string
	flaws  string
	json   bool
	html   string // the file; "": none
	atOnce int64  // scenarios
	serve  string // the rung that this program is; "": none

	challenge int // 0: none
	hint      int

	program []string

	only     []string // the scenarios of run
	declared []lock.Flaw
	chance   []lock.Flaw // what breaks in some runs
}

// parse reads the command line. Its errors are one line.
func parse(args []string, out io.Writer) (o orders, err error) {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.StringVar(&o.redis, "redis", "", `"auto" starts Redis servers, and`+
		" `host:port`, or redis://user:password@host:port, uses somebody's; several"+
		" are separated by commas")
	flags.StringVar(&o.run, "run", "", "only the scenarios whose names match this regular `expression`")
	flags.StringVar(&o.flaws, "flaws", "", "a `file` with what the lock is known to"+
		` break, "scenario: invariant" a line, with "sometimes" before what breaks in`+
		" some runs only; # begins a comment")
	flags.Int64Var(&o.atOnce, "parallel", 6, "how many `scenarios` run at the same"+
		" time, each with two or three processes of the program")
	flags.BoolVar(&o.json, "json", false, "print the results as JSON instead")
	flags.StringVar(&o.html, "html", "", "also write the results to this `file`, as a"+
		" page on which what breaks can be played step by step")
	flags.StringVar(&o.serve, "serve", "", "be such a program: this `rung` of the ladder"+
		" behind the protocol, such as reentrant/fair")
	flags.IntVar(&o.challenge, "challenge", 0, "the `number` of a challenge of"+
		" docs/challenges.md: print it, or say whether PROGRAM passes it")
	flags.IntVar(&o.hint, "hint", 0, "the `number` of the challenge's hint to show, from 1 to 3")
	err = terminal.Parse(flags, args, "usage: go run ./scenarios/check -redis auto [flags] -- PROGRAM"+
		" [ARGUMENTS]\n\nRuns all scenarios against the lock in PROGRAM, see docs/any-language.md.\n\n", out)
	if err != nil {
		return o, err
	}
	o.program = flags.Args()
	if o.serve != "" {
		return o, nil
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := o.chooses(given); err != nil || o.challenge > 0 && len(o.program) == 0 {
		return o, err
	}
	if err := cmp.Or(
		terminal.Wrong(len(o.program) == 0 || o.program[0] == "", "name the program behind the flags, for example: check -redis auto -- python3"+
			" mylock.py"),
		terminal.Wrong(o.redis == "", "-redis is missing: -redis auto starts servers"),
		terminal.Wrong(o.atOnce < 1, "-parallel %d: one scenario is the least", o.atOnce)); err != nil {
		return o, err
	}
	if o.html != "" {
		if err := recording.Replace(o.html, nil); err != nil {
			return o, fmt.Errorf("-html: %w", err)
		}
	}
	if o.only == nil {
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
			_, err := scenarios.Find(o.run)
			return o, fmt.Errorf("-run matches nothing that docs/matrix.md lists: %w", err)
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

// chooses is the challenge that is asked for, if its flags are given. Its errors are one line.
func (o *orders) chooses(given map[string]bool) error {
	all := scenarios.Challenges()
	err := cmp.Or(
		terminal.Wrong(given["hint"] && !given["challenge"], "-hint is one of a challenge, for example: -challenge 1 -hint 1"),
		terminal.Wrong(given["hint"] && (o.hint < 1 || o.hint > 3), "-hint %d: the hints are 1, 2 and 3", o.hint))
	if err != nil || !given["challenge"] {
		return err
	}
	err = cmp.Or(
		terminal.Wrong(o.challenge < 1 || o.challenge > len(all), "-challenge %d: the challenges are 1 to %d", o.challenge,
			len(all)),
		terminal.Wrong(o.run != "" || o.flaws != "" || o.json, "-challenge chooses the scenarios, and prints for a person:"+
			" leave out -run, -flaws and -json"))
	if err == nil {
		o.only = all[o.challenge-1].Scenarios
		o.redis = cmp.Or(o.redis, "auto")
	}
	return err
}
