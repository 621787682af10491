package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/bench/nodes"
)

// BenchmarkInventory measures every rung and baseline. One iteration is a whole run of the
// inventory; its time per operation is that of a client's turn, without the warming
// up. In a name the dot stands for the slash of the rung's.
func BenchmarkInventory(b *testing.B) {
	for _, clients := range []int{100, 1000} {
		servers := nodes.Embed(5, nodes.Config{Clients: clients})
		runner := &inventory.Runner{Servers: servers, Settings: inventory.Settings{
			Clients: clients,
			Stock:   inventory.DefaultStock,
			TTL:     inventory.DefaultTTL,
			Timeout: inventory.DefaultTimeout,
			Grace:   inventory.DefaultGrace,
		}}
		for _, subject := range inventory.Around(bench.Rungs()...) {
			name := strings.ReplaceAll(subject.Name, "/", ".")
			b.Run(fmt.Sprintf("rung=%s/clients=%d", name, clients),
				func(b *testing.B) { sell(b, runner, subject) })
		}
		if err := servers.Close(b.Context()); err != nil {
			b.Error(err)
		}
	}
}

func sell(b *testing.B, runner *inventory.Runner, subject bench.Subject) {
	sums := map[string]float64{} // a figure that was not measured is not reported
	add := func(unit string, figure *float64) {
		if figure != nil {
			sums[unit] += *figure
		}
	}
	for b.Loop() {
		row, err := runner.Measure(b.Context(), subject)
		if err != nil {
			b.Fatal(err)
		}
		if !row.Finished() || row.Count("failures") > 0 {
			b.Error(bench.Layout{}.Row(row))
		}
		turns := *row.Number("turns")
		add("ns/op", new(*row.Number("seconds")*1e9/turns))
		if retries := row.Number("retries"); retries != nil {
			add("retries/section", new(*retries/turns))
		}
		for unit, figure := range map[string]string{
			"acquisitions/s": "acquisitions_per_second", "oversold": "oversold",
			"commands/section": "commands_per_section", "max-holders": "max_holders",
			"trips/section": "round_trips_per_section", "wait-p50-ms": "wait_ms.p50",
			"wait-p99-ms": "wait_ms.p99", "wait-max-ms": "wait_ms.max"} {
			add(unit, row.Number(figure))
		}
	}
	for unit, sum := range sums {
		b.ReportMetric(sum/float64(b.N), unit)
	}
}
