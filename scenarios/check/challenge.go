package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// challenges is the page with the tasks and their hints, in a checkout.
const challenges = "docs/challenges.md"

// readChallenge is the task of a challenge and its hints. Outside of a checkout there are none.
func readChallenge(n int) (task string, hints []string) {
	page, err := inCheckout(challenges)
	if err != nil {
		return "", nil
	}
	_, section, _ := strings.Cut(page, fmt.Sprintf("\n## Challenge %d: ", n))
	section, _, _ = strings.Cut(section, "\n## ")
	section = regexp.MustCompile(`(?m)^<!-- .* -->\n`).ReplaceAllString(section, "")
	task, folded, _ := strings.Cut(section, "<details>\n")
	for _, part := range strings.Split(folded, "</summary>\n\n")[1:] {
		hint, _, _ := strings.Cut(part, "\n\n</details>")
		hints = append(hints, hint)
	}
	return strings.TrimSpace(task), hints
}

// inCheckout reads a file of the module, whose root is the working directory or above it.
func inCheckout(file string) (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		text, failed := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if failed == nil {
			return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
		}
		if dir == filepath.Dir(dir) {
			err = failed
		}
	}
	return "", err
}

// tell prints the task, and the hints that are asked for.
func (o orders) tell() error {
	task, hints := readChallenge(o.challenge)
	if task == "" {
		return fmt.Errorf("%s isn't here: run this in a checkout of the module", challenges)
	}
	text := fmt.Sprintf("Challenge %d: %s\n", o.challenge, task)
	for i := range o.hint {
		text += fmt.Sprintf("\nHint %d: %s\n", i+1, hints[i])
	}
	fmt.Print(plain(text))
	return nil
}

// marks are those of Markdown: of a link, of code, and of what is stressed.
var marks = regexp.MustCompile("\\[([^]]*)\\]\\([^)]*\\)|`|\\*\\*|\\*(\\w[^*]*)\\*")

// plain is a page's text without marks, in lines of 80 columns.
func plain(text string) string {
	text = marks.ReplaceAllString(text, "$1$2")
	text = regexp.MustCompile(`(\S)\n([^\s-])`).ReplaceAllString(text, "$1 $2")
	lines := strings.Split(strings.ReplaceAll(text, "\n\n\n", "\n\n"), "\n")
	for i, line := range lines {
		if utf8.RuneCountInString(line) > 79 {
			lines[i] = strings.Join(terminal.Wrap(line, 79, 2*strings.Count(line[:1], "-")), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// answer prints whether the lock has passed its challenge, and if not, the first scenario
// to look at, and a hint.
func (c *checking) answer() {
	all := scenarios.Challenges()
	challenge := all[c.challenge-1]
	missing := challenge.Missing(c.results)
	if len(missing) == 0 && len(c.failed) == 0 {
		fmt.Fprintf(c.out, "Challenge %d passed: your lock stands on %s.\n", c.challenge, challenge.Rung)
		if c.challenge < len(all) {
			fmt.Fprintf(c.out, "The next one: go run ./scenarios/check -challenge %d\n", c.challenge+1)
		}
		return
	}
	c.missed = true
	if len(missing) == 0 {
		fmt.Fprintf(c.out, "%s\n", c.failed[0])
	} else {
		c.shows(missing[0])
	}
	fmt.Fprint(c.out, "\n", terminal.Paragraph(fmt.Sprintf("Challenge %d isn't passed yet. Still open: %s.",
		c.challenge, cmp.Or(strings.Join(missing, ", "), "a scenario without a verdict"))))
	c.hints(cmp.Or(challenge.Open(c.results), c.challenge))
}

// unfit says of a lock with which no scenario can be run that it has not passed the first
// challenge, which is about nothing else, and returns the exit status.
func (c *checking) unfit(err error) int {
	c.wipe()
	fmt.Fprint(c.out, terminal.Paragraph("Challenge 1 isn't passed yet, and no scenario can be run: "+
		strings.TrimPrefix(err.Error(), protocol.ErrUnfit.Error()+": ")+"."))
	c.hints(1)
	return terminal.Failed
}

// hints prints the hint that is asked for, or the first one, of a challenge.
func (c *checking) hints(challenge int) {
	_, hints := readChallenge(challenge)
	if n := max(c.hint, 1); n <= len(hints) {
		fmt.Fprint(c.out, plain(fmt.Sprintf("\nHint %d of %d for challenge %d: %s\n", n, len(hints),
			challenge, hints[n-1])))
		if n < len(hints) {
			fmt.Fprintf(c.out, "The next one comes with -hint %d.\n", n+1)
		}
	}
}

// shows prints the scenario of what is missing: its timeline, or why there is none.
func (c *checking) shows(missing string) {
	name, invariant, _ := strings.Cut(missing, ": ")
	i := slices.IndexFunc(c.failed, func(text string) bool {
		return strings.HasPrefix(text, name+": ")
	})
	if i >= 0 {
		fmt.Fprintln(c.out, c.failed[i])
		return
	}
	broken := slices.DeleteFunc(slices.Clone(c.results), func(r scenarios.Result) bool {
		return r.Scenario != name || r.Verdict != scenarios.Breaks
	})
	if text := scenarios.Report(broken).Failures(); text != "" {
		fmt.Fprint(c.out, legend, "\n", protocol.InWords(text))
		return
	}
	why := "it needs something that your lock doesn't have"
	i = slices.IndexFunc(c.results, func(r scenarios.Result) bool {
		return r.Scenario == name && r.Verdict == scenarios.CannotRun
	})
	if i >= 0 {
		why = c.results[i].Event
	}
	scenario, _ := scenarios.Find(name)
	fmt.Fprintf(c.out, "%s\n%s", terminal.Paragraph(fmt.Sprintf("%s: %s: %s.", missing,
		scenarios.Report(c.results).Verdict(name, invariant), why)),
		terminal.Paragraph(protocol.InWords(scenario.Summary)))
}
