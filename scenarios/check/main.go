// Command check runs all scenarios against a lock in another language, which is a
// program that speaks the protocol of docs/any-language.md:
//
//	go run ./scenarios/check -redis auto -- python3 mylock.py
//
// It starts Redis servers, tries the program out, runs the scenarios that apply, several at a
// time, and prints a verdict for each, with the timeline of what breaks. The exit status is 0
// when exactly what is declared with -flaws breaks, 1 when something else does, 2 when the flags,
// the program or the servers are at fault, and 130 after an interrupt.
//
// With -serve it is such a program itself: a rung of the ladder behind the protocol. The scenarios
// give it the same verdicts as without the protocol, which is what the protocol is tested by.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func main() {
	servers.Sweep()
	o, err := parse(os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		os.Exit(terminal.Refused(os.Stderr, "check", err))
	case o.serve != "":
		err = serve(o.serve)
	case len(o.program) == 0:
		err = o.tell()
	default:
		err = checkInTest(o)
	}
	if err != nil {
		terminal.Say(os.Stderr, "check: %v", err)
		os.Exit(terminal.Usage)
	}
}

// checkInTest ends the process with the status of the check, or returns an error. The
// scenarios report to a test, whose own output is nobody's business here.
func checkInTest(o orders) (err error) {
	c := &checking{orders: o, out: os.Stdout, log: os.Stderr}
	if !o.json {
		c.out = terminal.Colored(c.out)
	}
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return err
	}
	os.Args = os.Args[:1]
	testing.Init()
	flag.Set("test.timeout", "0")
	status := terminal.Usage
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "check", F: func(t *testing.T) {
			t.Run("program", func(t *testing.T) { status = c.check(t) })
			os.Exit(status) // all clean-ups of check have run
		}}}, nil, nil)
	return nil
}

// serve is a rung as a program, until its input ends.
func serve(name string) error {
	rung, err := ladder.Find(name)
	if err != nil {
		return fmt.Errorf("-serve: %w", err)
	}
	offers := protocol.Answer{Library: rung.Name, Servers: rung.Nodes,
		Features: []protocol.Feature{protocol.FixedLease},
		Keeps:    []string{"{" + protocol.KeyOf + "}:token"}}
	if reenters(rung) {
		offers.Features = append(offers.Features, protocol.Reentry)
	}
	if rung.Renews {
		offers.Features = append(offers.Features, protocol.Renewal)
	}
	if rung.Name == "reentrant/readwrite" {
		offers.Readers = "{" + protocol.KeyOf + "}:readers"
	}
	return protocol.Serve(os.Stdin, os.Stdout, offers, rung.Build)
}

// reenters says whether an owner that holds the lock gets it again.
func reenters(rung ladder.Rung) bool {
	return !slices.Contains(rung.Flaws, lock.Flaws("nested: self-deadlock")[0])
}
