package bench

import (
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// rows show each thing that a table can say.
func rows() []Row {
	oversold := fullRow()
	oversold.Rung, oversold.Kind = "no-lock", Baseline
	oversold.Sold, oversold.Left, oversold.Oversold = 357, new(int64(-257)), 257
	oversold.MaxHolders, oversold.Wait = new(int64(362)), nil
	oversold.Retries, oversold.Seconds = nil, 0.02
	oversold.AcquisitionsPerSecond = new(50213.7)

	quick := fullRow()
	quick.Rung, quick.Kind = "serial-limit", Baseline
	quick.Wait = &Wait{P50: 0.041, P99: 0.312, Max: 9.994}

	cut := fullRow()
	cut.Rung, cut.meant, cut.Nodes = "redlock", 5, 3
	cut.Finished, cut.Seconds, cut.Sections = false, 30.004, 12
	cut.AcquisitionsPerSecond, cut.Retries = new(0.4), new(int64(1234567))
	cut.Wait = &Wait{P50: 12345.67, P99: 29999.9, Max: 29999.9}
	cut.CommandsPerSection, cut.RoundTripsPerSection = new(12444.6), new(999.5)
	cut.Sold, cut.Left, cut.Absent = 12, new(int64(88)), 1
	cut.Failures = 2
	cut.FirstFailure = new("release \"key\": i/o timeout\nand again")

	loop := fullRow()
	loop.Rung, loop.LoopSeconds = "reentrant/cohort", new(3.0)
	loop.SerialMaxOverP50 = new(1.71)
	loop.Rounds = []Round{
		{WaitP50: new(8.0), WaitMax: new(23.2), SerialMaxOverP50: new(1.5)},
		{WaitP50: new(8.0), WaitMax: new(12.4), SerialMaxOverP50: new(2.62)},
	}

	nothing := Row{Rung: "reentrant/notify", Turns: 5, Absent: 5}
	return []Row{quick, oversold, fullRow(), cut, loop, nothing}
}

func TestTheTableLooksAsItDid(t *testing.T) {
	for name, table := range map[string]Layout{
		"wide":          {},
		"narrow":        {Width: 80},
		"paired":        {Paired: true},
		"loop":          {Paired: true, Loop: true},
		"paired_narrow": {Paired: true, Width: 80},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			got.WriteString(table.Head())
			for _, row := range rows() {
				got.WriteString(table.Row(row))
			}
			got.WriteString("\n" + table.Legend())

			path := "testdata/" + name + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"),
				got.String())
		})
	}
}

func TestFiguresStandUnderTheirHeads(t *testing.T) {
	for _, table := range []Layout{{}, {Width: 80}, {Name: 26}, {Name: 22, Width: 80},
		{Paired: true, Width: 80}, {Paired: true}} {
		head := strings.Split(table.Head(), "\n")
		named := fullRow()
		named.Rung = strings.Repeat("x", max(table.Name, len(named.Rung)))
		row := strings.Split(table.Row(named), "\n")
		lines := len(row) - 1
		require.Equal(t, 2*lines, len(head)-1)
		for i := range lines {
			assert.Equal(t, utf8.RuneCountInString(head[2*i+1]),
				utf8.RuneCountInString(row[i]))
			if table.Width > 0 {
				assert.LessOrEqual(t, utf8.RuneCountInString(row[i]), table.Width)
			}
			assert.LessOrEqual(t, utf8.RuneCountInString(row[i]), wide)
		}
	}
}
