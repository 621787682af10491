package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPercentileIsATimeThatSoManyDoNotExceed(t *testing.T) {
	var clock Clock
	for i := range 1000 {
		clock = append(clock, time.Duration(1000-i)*time.Millisecond)
	}
	for percent := 1.0; percent <= 100; percent++ {
		assert.Equal(t, percent*10, *clock.At(percent))
	}
	assert.Nil(t, waits([]Stamp{{Asked: -1, Entered: 7, Left: 9}}).At(50), "nobody waited")
}

func TestAFigureThatWasNotMeasuredIsNullInJSON(t *testing.T) {
	row := NewRow((&Measurement{Subject: Subject{Name: "gold", Kind: Rung, Nodes: 1},
		Counts: Counts{Absent: 1}, Unlocked: true}).figures()...)
	text, err := json.Marshal(row)
	require.NoError(t, err)
	assert.JSONEq(t, `{"rung":"gold","kind":"rung","nodes":0,"clients":0,
		"table_clients":0,"stock":0,"loop_seconds":null,"poll_ms":0,
		"fixed_poll":false,"sold":0,"left":null,"oversold":0,"lost_updates":0,
		"max_holders":null,"finished":false,"turns":0,"sections":0,"seconds":0,
		"acquisitions_per_second":null,"wait_ms":null,"commands_per_section":null,
		"round_trips_per_section":null,"failures":0,"first_failure":null,
		"absent":1,"retries":null,
		"ratio_to_serial":null,"jain":null,
		"in_order":null,"calls_per_section":null,
		"cpu_us_per_section":null}`, string(text))
}

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Report{Schema: 2, Rows: []Row{fullRow()}}.Write(&out))
	var got Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	var again bytes.Buffer
	require.NoError(t, got.Write(&again))
	assert.Equal(t, out.String(), again.String())
	for _, member := range []string{`"schema": 2`, `"left": 0`, `"clients": 90,`,
		`"p99": 1201.5,`, `"wait_p50_ms": 512.25`} {
		assert.Contains(t, again.String(), member)
	}
}

// fullRow has every figure.
func fullRow() Row {
	round := RowOf(map[string]any{"seconds": 1.25, "sections": 1000, "acquisitions_per_second": 800,
		"ratio_to_serial": 0.11, "wait_ms.p50": 512.25, "wait_ms.max": 1249.875, "oversold": 0})
	row := RowOf(map[string]any{"rung": "gold", "kind": string(Rung), "nodes": 1, "clients": 1000,
		"table_clients": 1000, "stock": 100, "poll_ms": 1000, "sold": 100, "left": 0, "oversold": 0, "lost_updates": 0,
		"max_holders": 1, "finished": true, "turns": 1000, "sections": 1000, "seconds": 1.25,
		"acquisitions_per_second": 800, "wait_ms.p50": 512.25, "wait_ms.p99": 1201.5, "wait_ms.max": 1249.875,
		"commands_per_section": 4.2, "round_trips_per_section": 4.2, "calls_per_section": 5.2,
		"cpu_us_per_section.clients": 90, "cpu_us_per_section.server": 31.5, "failures": 0, "retries": 1130,
		"ratio_to_serial": 0.11, "jain": 1.0, "in_order": 0.5})
	round.isRound = true
	row.Rounds = []Row{round}
	return row
}

// with is fullRow with other figures.
func with(values map[string]any) Row {
	row := fullRow()
	for name, value := range values {
		row.Set(name, value)
	}
	return row
}

// rows show each thing that a table can say.
func rows() []Row {
	quick := with(map[string]any{"rung": "serial-limit", "turns": 1000, "wait_ms.p50": 0.041,
		"wait_ms.p99": 0.312, "wait_ms.max": 9.994})
	oversold := with(map[string]any{"rung": "no-lock", "sold": 357, "left": -257, "oversold": 257,
		"max_holders": 362, "wait_ms.p50": nil, "wait_ms.p99": nil, "wait_ms.max": nil, "retries": nil,
		"seconds": 0.02, "acquisitions_per_second": 50213.7})
	cut := with(map[string]any{"rung": "redlock", "nodes": 3, "finished": false, "seconds": 30.004, "sections": 12,
		"acquisitions_per_second": 0.4, "retries": 1234567, "wait_ms.p50": 12345.67, "wait_ms.p99": 29999.9,
		"wait_ms.max": 29999.9, "commands_per_section": 12444.6, "round_trips_per_section": 999.5, "sold": 12,
		"left": 88, "absent": 1, "failures": 2, "first_failure": "release \"key\": i/o timeout\nand again"})
	cut.meant = 5
	nothing := NewRow((&Measurement{Subject: Subject{Name: "reentrant/notify"},
		Turns: 5, Unlocked: true, Counts: Counts{Absent: 5}}).figures()...)
	return []Row{quick, oversold, fullRow(), cut, nothing}
}

func TestTheTableLooksAsItDid(t *testing.T) {
	for name, table := range map[string]Layout{
		"wide":   {Jain: true},
		"narrow": {Width: 80},
		"usual":  {Width: 100},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			all := rows()
			for i := range all {
				all[i] = all[i].explained()
			}
			got.WriteString(table.Table(all, all))
			for line := range strings.Lines(got.String()) {
				assert.LessOrEqual(t, len([]rune(strings.TrimSpace(line))),
					cmp.Or(table.Width, 1000), "a row is one line")
			}
			got.WriteString("\n" + table.Legend())

			path := "testdata/" + name + ".txt"
			if flag.Lookup("update").Value.String() == "true" {
				require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got.String())
		})
	}
}

func TestInOrderIsTheShareOfPairsServedInTheOrderOfAsking(t *testing.T) {
	for want, ranks := range map[float64][]int64{1: {0, 1, 2, 3}, 0: {3, 2, 1, 0},
		0.6667: {2, 1, 3}, 0.8333: {0, 2, 1, 3}} {
		var stamps []Stamp
		for asked, rank := range ranks {
			stamps = append(stamps, Stamp{int64(asked), 100 + rank, 101 + rank})
		}
		assert.Equal(t, &want, inOrder(stamps))
	}
	assert.Nil(t, inOrder([]Stamp{{-1, 1, 2}, {-1, 3, 4}}), "nobody asked")
}

func TestSectionsThatOverlapAreInsideTogether(t *testing.T) {
	assert.EqualValues(t, 0, MostInside(nil))
	assert.EqualValues(t, 1, MostInside([]Stamp{{0, 5, 7}, {0, 7, 9}}),
		"who enters when another leaves is not inside with it")
	assert.EqualValues(t, 2, MostInside([]Stamp{{0, 5, 8}, {0, 7, 9}}))
	assert.EqualValues(t, 3, MostInside([]Stamp{{0, 1, 9}, {0, 2, 4}, {0, 3, 5}, {0, 5, 6}}))
}

// rounds makes rows with these ratios.
func rounds(ratios ...float64) []Row {
	var rows []Row
	for _, ratio := range ratios {
		rows = append(rows, RowOf(map[string]any{"ratio_to_serial": ratio, "acquisitions_per_second": 1000 * ratio,
			"finished": true, "seconds": 1 / ratio, "max_holders": 1, "failures": 0,
			"oversold": 0}))
	}
	return rows
}

func TestTheMediansOfTheRoundsAreReported(t *testing.T) {
	row := Median(rounds(0.5, 0.1, 0.4), 0)
	assert.Equal(t, 0.4, *row.Ratio())
	assert.InDelta(t, 50, row.spread(), 1e-9, "(0.5 - 0.1) / 2 / 0.4")
	assert.Equal(t, "100–500", row.Range())
	assert.Equal(t, "9990–10000", span(9994.9, 9995.1))
	assert.Equal(t, "0–0.019", span(0, 0.0191))
}

func TestWhatMustNotHappenIsReportedOfTheWorstRound(t *testing.T) {
	done := rounds(0.5, 0.1, 0.4)
	done[0].Set("max_holders", 2)
	done[0].Set("failures", 1)
	done[0].Set("finished", false)
	done[1].Set("oversold", 3)
	done[1].Set("left", -3)
	done[0].Set("left", 5)
	done[2].Set("left", 5)
	done[1].Set("failures", 2)
	done[1].Set("first_failure", "broken")
	done[2].Set("seconds", 11)
	row := Median(done, 3)
	assert.Contains(t, row.explained().Notes(), "cut off after 2.0 s: 0 of 0 acquisitions were completed")
	assert.Equal(t, 2, row.Count("max_holders"))
	assert.Equal(t, []int{3, -3}, []int{row.Count("oversold"), row.Count("left")}, "of the same round")
	assert.Equal(t, 3, row.Count("failures"))
	assert.Equal(t, 10, row.Count("seconds"), "the median, whatever the round with the median ratio had")
	assert.Equal(t, "broken", row.Value("first_failure"))
	assert.False(t, row.Finished())
}
