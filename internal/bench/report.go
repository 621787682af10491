package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// ReportOf is a run of a workload whose rows are these.
type ReportOf[R any] struct {
	Schema   int    `json:"schema"`             // 2
	Workload string `json:"workload,omitempty"` // none: the inventory
	Env      Env    `json:"env"`
	Rows     []R    `json:"rows"`
}

// Report is a run of the inventory workload.
type Report = ReportOf[Row]

// Env is where and how a run was made.
type Env struct {
	Go            string   `json:"go"`
	OS            string   `json:"os"`
	Arch          string   `json:"arch"`
	CPU           *string  `json:"cpu"`
	CPUs          int      `json:"cpus"`
	Commit        *string  `json:"commit"` // with "+" when files have changed
	Server        string   `json:"server"` // "miniredis" or "redis"
	ServerVersion *string  `json:"server_version"`
	Addresses     []string `json:"addresses"`     // null when embedded
	Pinned        *int     `json:"pinned_to_cpu"` // servers and clients alike
	RTTms         float64  `json:"rtt_ms"`        // added to every round trip
	Pool          int      `json:"pool"`          // connections of a process
	TTLms         float64  `json:"ttl_ms"`
	TimeoutMs     float64  `json:"timeout_ms"`
	Seed          *uint64  `json:"seed"`
	PeakMemoryMB  *float64 `json:"peak_memory_mb"` // of the clients' processes
	Interrupted   bool     `json:"interrupted"`
}

// Write writes the report as JSON.
func (r ReportOf[R]) Write(w io.Writer) error {
	if r.Rows == nil {
		r.Rows = []R{}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WriteBenchstat writes a report of the inventory as the text that benchstat compares, under
// the names of go test -bench: a line for each round, whose time per operation
// is that of a client's turn.
func WriteBenchstat(r Report, w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\n", r.Env.OS, r.Env.Arch)
	fmt.Fprintf(&b, "pkg: github.com/lockladder/lockladder/bench\n")
	if r.Env.CPU != nil {
		fmt.Fprintf(&b, "cpu: %s\n", *r.Env.CPU)
	}
	for _, row := range r.Rows {
		rounds := row.Rounds
		if len(rounds) == 0 {
			rounds = Median([]Row{row}, 0).Rounds
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
			figure(round.AcquisitionsPerSecond, "acquisitions/s")
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
