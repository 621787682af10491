package choosing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// Costs is what each lock cost in the measured run, the fastest first.
func (c *Choice) Costs() string {
	all := slices.Clone(c.Candidates)
	fastestFirst(all)
	var b strings.Builder
	fmt.Fprint(&b, "| lock | lives in | breaks | times serial | ± % |"+
		" acquisitions/s | wait p50 ms | wait max ms | in order % |\n"+
		"|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		if c.Cost == nil {
			continue
		}
		family, _, _ := strings.Cut(c.Family, ":")
		if c.Cost.Nodes > 1 {
			family += fmt.Sprintf(", %d servers", c.Cost.Nodes)
		}
		r := c.Cost
		fmt.Fprintf(&b, "| %s | %s | %d | %.3f | %s | %.0f | %.0f | %.0f | %.0f |\n",
			c.Name, family, c.broken(), c.ratio(), spread(r),
			*r.AcquisitionsPerSecond, r.Wait.P50, r.Wait.Max, 100**r.InOrder)
	}
	return b.String()
}

// lockless are the rows that sell without a lock and compare, or let the server do
// it in one step.
var lockless = []string{"lua-decrement", "watch-multi", "mysql/optimistic",
	"mysql/optimistic-timestamp"}

// Without is what they did in the measured run, as far as it has them.
func (c *Choice) Without() string {
	var b strings.Builder
	fmt.Fprint(&b, "| without a lock | times serial | sold | left | retries |\n"+
		"|---|--:|--:|--:|--:|\n")
	for _, name := range lockless {
		for _, r := range c.Run.Rows {
			if r.Rung != name {
				continue
			}
			fmt.Fprintf(&b, "| %s | %.3f | %d | %s | %s |\n", name,
				Candidate{Cost: &r}.ratio(), r.Sold, count(r.Left),
				count(r.Retries))
		}
	}
	return b.String()
}

// count is a figure, if it was measured.
func count(n *int64) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

// spread is half of the range of the rounds' ratios around the median, in
// per cent of it.
func spread(r *benchmark.Row) string {
	var ratios []float64
	for _, round := range r.Rounds {
		if round.RatioToSerial != nil {
			ratios = append(ratios, *round.RatioToSerial)
		}
	}
	if len(ratios) < 2 || r.RatioToSerial == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f", 50*(slices.Max(ratios)-slices.Min(ratios)) /
		*r.RatioToSerial)
}

// Where names the machine of the measured run.
func (c *Choice) Where() string {
	env, row := c.Run.Env, c.Run.Rows[0]
	return fmt.Sprintf("%d clients at one instant, %d rounds; Redis %s, %s %s/%s,"+
		" %d CPUs (%s), commit %s.\n", row.InTableOf, len(row.Rounds),
		*env.ServerVersion, env.Go, env.OS, env.Arch, env.CPUs, *env.CPU,
		*env.Commit)
}
