package benchmark

import (
	"fmt"
	"io"
	"strings"
)

// WriteBenchstat writes the report as the text that benchstat compares, under
// the names of go test -bench: a line for each round, whose time per operation
// is that of a client's turn.
func (r Report) WriteBenchstat(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\n", r.Env.OS, r.Env.Arch)
	fmt.Fprintf(&b, "pkg: github.com/lockladder/lockladder/bench\n")
	if r.Env.CPU != nil {
		fmt.Fprintf(&b, "cpu: %s\n", *r.Env.CPU)
	}
	for _, row := range r.Rows {
		rounds := row.Rounds
		if len(rounds) == 0 {
			rounds = median([]Row{row}).Rounds
		}
		for _, round := range rounds {
			if round.Sections == 0 {
				continue // there is no time per operation
			}
			// In a name the dot stands for the slash of the rung's.
			fmt.Fprintf(&b, "BenchmarkInventory/rung=%s/clients=%d/poll=%gms %d"+
				" %.0f ns/op", strings.ReplaceAll(row.Rung, "/", "."),
				row.InTableOf, row.PollMs, round.Sections,
				round.Seconds*1e9/float64(round.Sections))
			figure := func(x *float64, unit string) {
				if x != nil {
					fmt.Fprintf(&b, " %g %s", *x, unit)
				}
			}
			figure(round.HandoversPerSecond, "handovers/s")
			figure(round.RatioToSerial, "times-serial")
			figure(round.WaitP50, "wait-p50-ms")
			fmt.Fprintln(&b)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the figures for benchstat: %w", err)
	}
	return nil
}
