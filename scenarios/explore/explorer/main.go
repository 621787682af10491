// Command explorer runs the rungs through every schedule within the bounds of docs/explorer.md:
//
//	go run ./scenarios/explore/explorer why platinum
//	go run ./scenarios/explore/explorer more gold
//	go run ./scenarios/explore/explorer replay platinum 'once: A> A< A= E B> B<'
//	go run ./scenarios/explore/explorer standard
//
// What it has found goes to stdout, how far it has come to stderr. It ends with 1 when it
// could not do what it was asked, and with 2 when it was not asked well. Its tests make
// the tables of the page.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/scenarios/explore"
)

const usage = `usage: go run ./scenarios/explore/explorer COMMAND

Runs a lock through every order in which the steps of two clients can happen,
with a few faults, and shows the shortest order (schedule) that breaks it.

  why RUNG              what breaks: a lease that ends, a crash, a lost reply
  more RUNG             what else breaks: other names, extra Unlocks, errors
  replay RUNG SCHEDULE  the timeline of one schedule, such as 'once: A> A< E B>'
  standard              all rungs, each with one lease's end and one crash

Each takes seconds to minutes. docs/explorer.md explains schedules and bounds.
`

func main() {
	if slices.Contains([]string{"-h", "-help", "--help", "help"}, strings.Join(os.Args[1:], " ")) {
		fmt.Print(usage)
		return
	}
	tests, err := asked(os.Args[1:], terminal.Colored(os.Stdout))
	if err != nil {
		terminal.Say(os.Stderr, "explorer: %v (-help lists the commands)", err)
		os.Exit(terminal.Usage)
	}
	inVirtualTime(tests, os.Stderr)
}

// asked is what the arguments ask for. Its error says what would be right.
func asked(args []string, out io.Writer) ([]testing.InternalTest, error) {
	words := map[string]int{"why": 2, "more": 2, "replay": 3, "standard": 1}
	if len(args) > 0 && words[args[0]] == 0 {
		return nil, terminal.Unknown("command", args[0], slices.Sorted(maps.Keys(words)))
	}
	if len(args) == 0 || len(args) != words[args[0]] {
		return nil, fmt.Errorf("%q: say what to explore, such as: why gold; or: replay gold 'once: A> E A<'",
			strings.Join(args, " "))
	}
	if args[0] == "standard" {
		return ofEachRung(out), nil
	}
	rung, err := ladder.Find(args[1])
	do := func(t *testing.T) { why(t, rung, rows(), out) }
	switch args[0] {
	case "more":
		do = func(t *testing.T) { why(t, rung, moreRows(), out) }
	case "replay":
		err = cmp.Or(err, explore.Check(args[2]))
		title := fmt.Sprintf("%s: %s\n%s\n", rung.Name, args[2], legend)
		do = func(t *testing.T) { replay(t, rung, args[2], title, out) }
	}
	return []testing.InternalTest{{Name: rung.Name, F: do}}, err
}

// inVirtualTime runs tests, and ends the process: Go offers virtual time to nothing else.
// Nobody asked for tests, so only what they log is told.
func inVirtualTime(tests []testing.InternalTest, told io.Writer) {
	testing.Init()
	flag.CommandLine.Parse([]string{"-test.v", "-test.timeout=0"})
	locktest.CollectLess()
	read, write, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(told, err)
		os.Exit(1)
	}
	os.Stdout = write
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		tell(read, told)
	}()
	last := testing.InternalTest{Name: "last", F: func(*testing.T) {
		write.Close() // the end of the tests is nobody's business
		<-joined
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, append(tests, last), nil, nil)
}

var logged = regexp.MustCompile(`^ +\w+\.go:\d+: (.*)`)

// tell copies what tests log, without the lines of the code that logs it.
func tell(tests io.Reader, told io.Writer) {
	lines := bufio.NewScanner(tests)
	for lines.Scan() {
		if line := logged.FindStringSubmatch(lines.Text()); line != nil && strings.Contains(line[1], " so far, ") {
			terminal.Step(told, "explorer: "+line[1]) // a terminal has the line of walks
		} else if line != nil {
			terminal.Say(told, "explorer: %s", line[1])
		}
	}
}
