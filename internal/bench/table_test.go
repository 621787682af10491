package bench

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rows show each thing that a table can say.
func rows() []Row {
	quick := with(map[string]any{"rung": "serial-limit", "wait_ms.p50": 0.041,
		"wait_ms.p99": 0.312, "wait_ms.max": 9.994})
	oversold := with(map[string]any{"rung": "no-lock", "sold": 357, "left": -257,
		"oversold": 257, "max_holders": 362, "wait_ms.p50": nil, "wait_ms.p99": nil,
		"wait_ms.max": nil, "retries": nil, "seconds": 0.02,
		"acquisitions_per_second": 50213.7})
	cut := with(map[string]any{"rung": "redlock", "nodes": 3, "finished": false,
		"seconds": 30.004, "sections": 12, "acquisitions_per_second": 0.4,
		"retries": 1234567, "wait_ms.p50": 12345.67, "wait_ms.p99": 29999.9,
		"wait_ms.max": 29999.9, "commands_per_section": 12444.6,
		"round_trips_per_section": 999.5, "sold": 12, "left": 88, "absent": 1,
		"failures": 2, "first_failure": "release \"key\": i/o timeout\nand again"})
	cut.meant = 5
	loop := with(map[string]any{"rung": "reentrant/cohort", "loop_seconds": 3.0,
		"serial_max_over_p50": 1.71})
	loop.Rounds = nil
	for _, x := range [][3]float64{{8, 23.2, 1.5}, {8, 12.4, 2.62}} {
		loop.Rounds = append(loop.Rounds, RowOf(map[string]any{"wait_ms.p50": x[0],
			"wait_ms.max": x[1], "serial_max_over_p50": x[2]}))
	}
	nothing := NewRow(&Measurement{Subject: Subject{Name: "reentrant/notify"},
		Turns: 5, Unlocked: true, Counts: Counts{Absent: 5}})
	return []Row{quick, oversold, fullRow(), cut, loop, nothing}
}

func TestTheTableLooksAsItDid(t *testing.T) {
	for name, table := range map[string]Layout{
		"wide":   {},
		"narrow": {Paired: true, Loop: true, Width: 80},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			got.WriteString(table.Head())
			for _, row := range rows() {
				got.WriteString(table.Row(row))
			}
			got.WriteString("\n" + table.Legend())

			path := "testdata/" + name + ".txt"
			if flag.Lookup("update").Value.String() == "true" {
				require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"),
				got.String())
		})
	}
}
