// Command rung is a rung of the ladder behind the protocol of docs/any-language.md:
//
//	go run ./scenarios/check -redis auto -- go run ./scenarios/protocol/rung reentrant
//
// The scenarios give it the same verdicts as without the protocol, which is what
// the protocol is tested by.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rung NAME, such as reentrant/notify")
		os.Exit(2)
	}
	rung, err := ladder.Find(os.Args[1])
	if err == nil {
		err = protocol.Serve(os.Stdin, os.Stdout, offers(rung), rung.Build)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rung:", err)
		os.Exit(2)
	}
}

// offers is what the protocol must know of a rung.
func offers(rung ladder.Rung) protocol.Answer {
	a := protocol.Answer{Library: rung.Name, Servers: rung.Nodes,
		Features: []protocol.Feature{protocol.FixedLease},
		Keeps:    []string{"{" + protocol.KeyOf + "}:token"}}
	if !slices.Contains(rung.Flaws, lock.Flaws("nested: self-deadlock")[0]) {
		a.Features = append(a.Features, protocol.Reentry)
	}
	if rung.Renews {
		a.Features = append(a.Features, protocol.Renewal)
	}
	if rung.Name == "reentrant/readwrite" {
		a.Readers = "{" + protocol.KeyOf + "}:readers"
	}
	return a
}
