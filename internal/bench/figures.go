package bench

import "strings"

// Figure is something that a row tells. Everything that shows rows is a loop over their
// figures: JSON, table, legend, what go test -bench shows, and the median of rounds.
type Figure struct {
	Name  string // in JSON; what stands before a dot is an object there
	Value any    // nil when it was not measured; a number of a row is a float64

	Column Column // in the table, if it has one

	Legend string // explains it below the table: a term, a colon, and what it means
	Round  string // its name in the rounds in JSON, "" where it isn't
	Unit   string // for go test -bench, "" where that doesn't show it

	// Over makes a figure of all rounds, where it is not their median: the worst of
	// what must not happen.
	Over func(a, b any) any
}

// Term is what its legend explains, and how; nil where there is none.
func (f Figure) Term() []string {
	if f.Legend == "" {
		return nil
	}
	return strings.SplitN(f.Legend, ": ", 2)
}

// member is the figure's name in JSON, of a row or of one of its rounds; "" where it has none.
func (f Figure) member(ofRound bool) string {
	switch {
	case ofRound:
		return f.Round
	case f.Name == "range", f.Name == "spread", f.Name == "serial", f.Name == "safe":
		return "" // they follow from the rounds and the name
	}
	return f.Name
}

// when is a figure that is measured only if so.
func when[T any](measured bool, figure T) any {
	if measured {
		return figure
	}
	return nil
}

// dispensable are the figures that a terminal does without, the first one first.
var dispensable = []string{"cpu_us_per_section.server", "cpu_us_per_section.clients", "calls_per_section", "serial",
	"left", "seconds", "retries", "failures", "sold", "max_holders", "range", "wait_ms.p99", "spread", "ratio_to_serial", "in_order",
	"jain", "commands_per_section", "safe"}

// figures are those of one round, in the order of JSON and of the table.
func (m *Measurement) figures() []Figure {
	wait, lost := waits(m.Stamps), m.LostUpdates
	if m.Subject.Open != nil && m.Left != nil {
		lost = m.Taken + *m.Left - int64(m.Stock) // each section should have taken one
	}
	return []Figure{
		{Name: "rung", Value: m.Subject.Name}, {Name: "kind", Value: string(m.Subject.Kind)},
		{Name: "nodes", Value: m.Nodes},
		{Name: "clients", Value: m.clients()},
		{Name: "table_clients", Value: m.Clients},
		{Name: "stock", Value: m.Stock},
		{Name: "loop_seconds", Value: when(m.Loop > 0, m.Loop.Seconds())},
		{Name: "poll_ms", Value: Milliseconds(m.Poll)},
		{Name: "fixed_poll", Value: m.FixedPoll},

		{Name: "acquisitions_per_second", Value: m.PerSecond(), Round: "acquisitions_per_second",
			Unit: "acquisitions/s", Column: Column{"acquired", "a second", 9, Brief},
			Legend: "acquisitions/s: acquisitions divided by the time until the last client was through"},
		{Name: "spread", Column: Column{"", "± %", 5, 0}, Legend: "± %: half the 95 % confidence interval, of times serial"},
		{Name: "range", // it needs all rounds: see Median
			Column: Column{"middle", "half", 12, 0}, Legend: "middle half: of the rounds; a quarter of them is slower, and a quarter faster"},
		{Name: "wait_ms.p50", Value: wait.At(50), Round: "wait_p50_ms", Unit: "wait-p50-ms",
			Column: Column{"wait", "p50 ms", 7, Brief},
			Legend: "wait: from a client's first asking, which not all can do at once, to the grant; p50: half waited no longer; max: the longest of a round"},
		{Name: "wait_ms.p99", Value: wait.At(99), Column: Column{"wait", "p99 ms", 7, Brief}},
		{Name: "wait_ms.max", Value: m.longestWait(), Round: "wait_max_ms",
			Column: Column{"wait", "max ms", 7, Brief}},
		{Name: "commands_per_section", Value: m.sent(m.Commands), Round: "commands_per_section",
			Column: Column{"", "commands", 9, Brief},
			Legend: "commands: for an acquisition, its work and release, also to be refused; no publish/subscribe"},
		{Name: "round_trips_per_section", Value: m.sent(m.Trips)},
		{Name: "in_order", Value: inOrder(m.Stamps), Round: "in_order", Column: Column{"", "in order%", 10, percent},
			Legend: "in order: pairs of clients that had the lock in the order of asking; 50 % is chance"},
		{Name: "jain", Value: when(m.Absent == 0, jain(m.Served)), Column: Column{"", "jain", 7, Brief},
			Legend: "jain: 1 when all clients had as many acquisitions"},
		{Name: "safe", Column: Column{"safe in", letters, 8, 0}, Legend: "safe in " + letters + ": C a crash, R a late release, L work longer than the lease, W a late write (if the storage checks the token), F a failover, T locking twice"},

		{Name: "lost_updates", Value: lost, Over: worst, Unit: "lost-updates",
			Column: Column{"", "lost", 6, 0},
			Legend: "lost updates: another client changed the stock between reading and taking; of the worst round"},
		{Name: "oversold", Value: max(0, m.Taken-int64(m.Stock)), Round: "oversold", Over: worst},
		{Name: "max_holders", Value: when(!m.Unlocked, m.Most), Over: worst, Column: Column{"most", "inside", 7, 0},
			Legend: "most inside: clients with the lock at one time"},
		{Name: "sold", Value: m.Taken, Over: worst, Column: Column{"", "sold", 6, 0}},
		{Name: "left", Value: m.Left, Column: Column{"", "left", 6, 0}},
		{Name: "finished", Value: m.Finished(), Over: both},
		{Name: "turns", Value: m.Turns},
		{Name: "sections", Value: m.Sections, Round: "sections"},

		{Name: "seconds", Value: Rounded(m.Took.Seconds(), 6), Round: "seconds",
			Column: Column{"wall", "s", 6, Brief}},
		{Name: "failures", Value: m.Failures, Over: sum, Column: Column{"", "failed", 7, 0}},
		{Name: "first_failure", Value: when(m.First != "", m.First), Over: either},
		{Name: "absent", Value: m.Absent, Over: worst},
		{Name: "retries", Value: when(m.Asked > 0, m.Refused),
			Column: Column{"", "retries", 8, 0}, Legend: "retries: refused attempts"},

		{Name: "ratio_to_serial", Round: "ratio_to_serial", Unit: "times-serial",
			Column: Column{"times", "serial", 7, Brief},
			Legend: "times serial: acquisitions/s in units of one client alone with diamond, in the same turn"},
		{Name: "serial", Column: Column{"serial", "limit/s", 8, Brief}, Legend: "serial limit:" +
			" acquisitions/s of one client alone, which never waits, in the turns of this row's rounds"},
		{Name: "calls_per_section", Value: when(m.Usage.Known && m.Subject.Nodes > 0,
			Per(m.Usage.Calls, m.Sections)), Column: Column{"calls", "/acquis.", 9, Brief},
			Legend: "calls: commands that the servers executed for an acquisition, inside scripts too"},
		{Name: "cpu_us_per_section.clients", Value: m.cpu(m.CPU), Column: Column{"clients'", "CPU µs", 9, Brief},
			Legend: "CPU: processor time of an acquisition with its work"},
		{Name: "cpu_us_per_section.server", Value: m.cpu(m.Usage.CPU),
			Column: Column{"server's", "CPU µs", 9, Brief}},
	}
}
