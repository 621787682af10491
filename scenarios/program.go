package scenarios

import (
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Offered are the options for a lock that is a program, from what it says it offers. Its
// Build is the program's.
func Offered(p *protocol.Program) []Option {
	options := []Option{Nodes(p.Nodes()), machineClock(), Keys(p.Keys), Keeps(p.Keeps)}
	if p.Readers("") != "" {
		options = append(options, Readers(p.Readers))
	}
	for feature, name := range map[protocol.Feature]Feature{
		protocol.Renewal: Renewal, protocol.FixedLease: FixedLeases,
		protocol.LossNotices: LossNotices, protocol.Reentry: Reentry,
	} {
		if !p.Offers(feature) {
			options = append(options, WithoutFeatures(name))
		}
	}
	return options
}

// ReadFlaws reads a file with what a lock is known to break, one "scenario: invariant" a
// line; # begins a comment. A line that begins with the word "sometimes" has what the
// lock breaks in some runs only. Its errors are one line, which says where the file is
// wrong and what would be right.
func ReadFlaws(text string) (always, sometimes []Flaw, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		line, chance := strings.CutPrefix(line, "sometimes ")
		scenario, invariant, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("line %d: %q should be \"scenario: invariant\"",
				i+1, line)
		}
		flaw := Flaw{Scenario: strings.TrimSpace(scenario),
			Invariant: strings.TrimSpace(invariant)}
		if err := judges(flaw); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if chance {
			sometimes = append(sometimes, flaw)
		} else {
			always = append(always, flaw)
		}
	}
	return always, sometimes, nil
}
