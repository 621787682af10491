package bench

// Figure is something that a row tells. Everything that shows rows is a loop over the
// figures: JSON, table, legend, the text for benchstat, and the median of rounds.
type Figure struct {
	Name string // in JSON; what stands before a dot is an object there
	Of   func(*Measurement) any

	group  // where it stands in the table, if it does
	Column Column
	share  bool // the column has it in percent

	Legend string // explains it below the table
	Round  string // its name in the rounds in JSON, "" where it isn't
	Unit   string // in the text for benchstat, "" where it isn't

	// Over makes a figure of all rounds, where it is not that of the one with the
	// median ratio: the worst of what must not happen.
	Over func(a, b any) any
}

// member is the figure's name in JSON, of a row or of one of its rounds; "" where it has
// none.
func (f Figure) member(ofRound bool) string {
	switch {
	case ofRound:
		return f.Round
	case f.Name == "spread":
		return "" // it follows from the rounds
	}
	return f.Name
}

// heads are those of a figure's column.
func heads(top, head string, width, digits int) Column {
	return Column{top: top, head: head, width: width, digits: digits}
}

// shown is what the column has.
func (f Figure) shown(r Row) any {
	x := r.Number(f.Name)
	if f.share {
		return Percent(x)
	}
	return x
}

// when is a figure that is measured only if so.
func when[T any](measured bool, figure T) any {
	if measured {
		return figure
	}
	return nil
}

// group are columns that stand on one line.
type group int

const (
	nowhere group = iota
	outcome       // what became of the stock
	cost          // what that took
	paired        // what rounds on real servers tell
)

// brief are two digits after the point below 10, and one above.
const brief = -1

// figures are all, in the order of JSON and of the table.
var figures = []Figure{
	{Name: "rung", Of: func(m *Measurement) any { return m.Subject.Name }},
	{Name: "kind", Of: func(m *Measurement) any { return string(m.Subject.Kind) }},
	{Name: "nodes", Of: func(m *Measurement) any { return m.Nodes }},
	{Name: "clients", Of: func(m *Measurement) any { return m.clients() }},
	{Name: "table_clients", Of: func(m *Measurement) any { return m.Clients }},
	{Name: "stock", Of: func(m *Measurement) any { return m.Stock }},
	{Name: "loop_seconds", Of: func(m *Measurement) any { return when(m.Loop > 0, m.Loop.Seconds()) }},
	{Name: "poll_ms", Of: func(m *Measurement) any { return Milliseconds(m.Poll) }},
	{Name: "fixed_poll", Of: func(m *Measurement) any { return m.FixedPoll }},

	{Name: "sold", group: outcome, Column: heads("", "sold", 6, 0),
		Of: func(m *Measurement) any { return m.Sold }},
	{Name: "left", group: outcome, Column: heads("", "left", 6, 0),
		Of: func(m *Measurement) any { return m.Left }},
	{Name: "oversold", group: outcome, Column: heads("over-", "sold", 6, 0),
		Over: worst, Round: "oversold",
		Of: func(m *Measurement) any { return max(0, m.Sold-int64(m.Stock)) }},
	{Name: "lost_updates", group: outcome, Column: heads("lost", "updates", 8, 0),
		Over: worst,
		Of:   func(m *Measurement) any { return m.lostUpdates() },
		Legend: "lost updates: sections in which another client changed the stock " +
			"between the reading and the taking: without a lock that excludes, also " +
			"where nothing is oversold"},
	{Name: "max_holders", group: outcome, Column: heads("most", "inside", 7, 0),
		Over: worst,
		Of:   func(m *Measurement) any { return when(!m.Unlocked, m.Most) },
		Legend: "most inside: the most clients in the critical section at one " +
			"time"},
	{Name: "finished", Over: both,
		Of: func(m *Measurement) any { return m.Finished() }},
	{Name: "turns", Of: func(m *Measurement) any { return m.Turns }},
	{Name: "sections", Round: "sections",
		Of: func(m *Measurement) any { return m.Sections }},

	{Name: "seconds", group: cost, Column: heads("wall", "s", 6, 2), Round: "seconds",
		Of: func(m *Measurement) any { return Rounded(m.Took.Seconds(), 6) }},
	{Name: "acquisitions_per_second",
		group: cost, Column: heads("locks", "taken/s", 8, 0),
		Round: "acquisitions_per_second", Unit: "acquisitions/s",
		Of:     func(m *Measurement) any { return m.PerSecond() },
		Legend: "locks taken/s: completed turns a second"},
	{Name: "wait_ms.p50", group: cost, Column: heads("wait", "p50 ms", 7, brief),
		Round: "wait_p50_ms", Unit: "wait-p50-ms",
		Of:     func(m *Measurement) any { return waits(m.Stamps).at(50) },
		Legend: "wait: until the lock was granted"},
	{Name: "wait_ms.p99", group: cost, Column: heads("wait", "p99 ms", 7, brief),
		Of: func(m *Measurement) any { return waits(m.Stamps).at(99) }},
	{Name: "wait_ms.max", group: cost, Column: heads("wait", "max ms", 7, brief),
		Round: "wait_max_ms",
		Of:    func(m *Measurement) any { return m.longestWait() }},
	{Name: "wait_ms.percentiles",
		Of: func(m *Measurement) any { return waits(m.Stamps).percentiles() }},
	{Name: "commands_per_section",
		group: cost, Column: heads("commands", "/section", 9, 1),
		Of:     func(m *Measurement) any { return m.sent(m.Commands) },
		Legend: "commands: as clients send them, without publish/subscribe"},
	{Name: "round_trips_per_section",
		group: cost, Column: heads("trips", "/section", 9, 1),
		Of:     func(m *Measurement) any { return m.sent(m.Trips) },
		Legend: "trips: round trips"},

	{Name: "failures", group: outcome, Column: heads("", "failed", 7, 0), Over: sum,
		Of: func(m *Measurement) any { return m.Failures }},
	{Name: "first_failure", Over: either,
		Of: func(m *Measurement) any { return when(m.First != "", m.First) }},
	{Name: "not_held", Over: sum, Of: func(m *Measurement) any { return m.NotHeld }},
	{Name: "absent", Over: worst, Of: func(m *Measurement) any { return m.Absent }},
	{Name: "retries", group: outcome, Column: heads("", "retries", 8, 0),
		Of:     func(m *Measurement) any { return when(m.Asked > 0, m.Refused) },
		Legend: "retries: refused attempts"},
	{Name: "stuck", Over: worst, Of: func(m *Measurement) any { return m.stuck() }},
	{Name: "longest_gap_ms", Of: func(m *Measurement) any {
		return Milliseconds(longestGap(m.Stamps, m.Took))
	}},

	{Name: "ratio_to_serial", group: paired, Column: heads("times", "serial", 8, 3),
		Round: "ratio_to_serial", Unit: "times-serial",
		Of: func(m *Measurement) any { return m.ratio() },
		Legend: "times serial: completed turns a second, compared with the serial " +
			"limit in the same round: the median of the rounds"},
	{Name: "spread", group: paired, Column: heads("spread", "±%", 7, 1),
		Of: func(*Measurement) any { return nil }, // it needs all rounds: see Median
		Legend: "spread: half of the range of the rounds. The other figures are " +
			"those of the round with the median."},
	{Name: "jain", group: paired, Column: heads("", "jain", 7, 3),
		Of:     func(m *Measurement) any { return when(m.Absent == 0, jain(m.Served)) },
		Legend: "jain: 1 when all clients had as many turns"},
	{Name: "in_order", group: paired, Column: heads("in", "order%", 7, 0), share: true,
		Of: func(m *Measurement) any { return inOrder(m.Stamps) },
		Legend: "in order: pairs of clients that were served in the order in which " +
			"they came (50: chance)"},
	{Name: "order_of_service",
		Of: func(m *Measurement) any { return sampled(orderOfService(m.Stamps)) }},
	{Name: "calls_per_section", group: paired, Column: heads("calls", "/section", 9, 1),
		Of: func(m *Measurement) any {
			return when(m.Usage.Known && m.Subject.Nodes > 0, Per(m.Usage.Calls, m.Sections))
		},
		Legend: "calls: commands that the servers report to have executed, inside " +
			"scripts too"},
	{Name: "cpu_us_per_section.clients",
		group: paired, Column: heads("clients'", "CPU µs", 9, 0),
		Of:     func(m *Measurement) any { return m.cpu(m.CPU) },
		Legend: "CPU: processor time of a section"},
	{Name: "cpu_us_per_section.server",
		group: paired, Column: heads("server's", "CPU µs", 9, 0),
		Of: func(m *Measurement) any { return m.cpu(m.Usage.CPU) }},
}
