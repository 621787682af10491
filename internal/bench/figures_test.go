package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPercentileIsATimeThatSoManyDoNotExceed(t *testing.T) {
	clock := NewClock()
	for i := range 1000 {
		clock.Record(time.Duration(1000-i) * time.Millisecond)
	}
	for i, at := range clock.percentiles() {
		assert.InEpsilon(t, max(percents[i]*10, 1), at, 0.002, "three digits are kept")
	}
	clock.Record(5 * time.Hour)
	assert.InEpsilon(t, 3600e3, *clock.at(100), 0.001, "longer than an hour is an hour")
	assert.Nil(t, waits([]Stamp{{Asked: -1, Entered: 7, Left: 9}}).at(50), "nobody waited")
}

// entered makes a section of each pause since the one before.
func entered(pauses ...int64) []Stamp {
	stamps := []Stamp{{}}
	for _, pause := range pauses {
		last := stamps[len(stamps)-1].Entered
		stamps = append(stamps, Stamp{Entered: last + pause})
	}
	return stamps
}

func TestTheUnevennessIsThatOfAsManySectionsAsFitIntoTheSpan(t *testing.T) {
	even := []int64{9, 9, 9, 9, 9, 9, 9, 9}
	slow := []int64{9, 9, 9, 9, 9, 27, 9, 9, 9}
	assert.Equal(t, new(1.0), unevenness(entered(even...), 9))
	assert.Equal(t, new(1.0), unevenness(entered(even...), 36))
	assert.Equal(t, new(3.0), unevenness(entered(slow...), 11))
	assert.Equal(t, new(2.0), unevenness(entered(slow...), 22),
		"one slow section of two")
	assert.Equal(t, new(1.0), unevenness(entered(even...), 0),
		"no less than one section")
	assert.Nil(t, unevenness(entered(even...), 90), "there are not as many")
	assert.Nil(t, unevenness(nil, 9))
}

func TestAFigureThatWasNotMeasuredIsNullInJSON(t *testing.T) {
	row := NewRow(&Measurement{Subject: Subject{Name: "gold", Kind: Rung, Nodes: 1},
		Counts: Counts{Absent: 1}, Unlocked: true})
	text, err := json.Marshal(row)
	require.NoError(t, err)
	assert.JSONEq(t, `{"rung":"gold","kind":"rung","nodes":0,"clients":0,
		"table_clients":0,"stock":0,"services":0,"loop_seconds":null,"poll_ms":0,
		"fixed_poll":false,"sold":0,"left":null,"oversold":0,"lost_updates":0,
		"max_holders":null,"finished":false,"turns":0,"sections":0,"seconds":0,
		"acquisitions_per_second":null,"wait_ms":null,"commands_per_section":null,
		"round_trips_per_section":null,"failures":0,"first_failure":null,
		"not_held":0,"absent":1,"retries":null,"stuck":0,"longest_gap_ms":0,
		"ratio_to_serial":null,"serial_max_over_p50":null,"jain":null,
		"in_order":null,"order_of_service":null,"calls_per_section":null,
		"cpu_us_per_section":null,"rounds":null}`, string(text))
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
		`"p99": 1201.5,`, `"wait_p50_ms": 512.25`, `33.3`} {
		assert.Contains(t, again.String(), member)
	}
}

// fullRow has every figure.
func fullRow() Row {
	round := RowOf(map[string]any{"seconds": 1.25, "sections": 1000,
		"acquisitions_per_second": 800, "ratio_to_serial": 0.11,
		"wait_ms.p50": 512.25, "wait_ms.max": 1249.875, "oversold": 0})
	row := RowOf(map[string]any{
		"rung": "gold", "kind": string(Rung), "nodes": 1, "clients": 1000,
		"table_clients": 1000, "stock": 100, "services": 1, "poll_ms": 1000,
		"sold": 100, "left": 0, "oversold": 0, "lost_updates": 0, "max_holders": 1,
		"finished": true, "turns": 1000, "sections": 1000, "seconds": 1.25,
		"acquisitions_per_second": 800, "wait_ms.p50": 512.25,
		"wait_ms.p99": 1201.5, "wait_ms.max": 1249.875,
		"wait_ms.percentiles":  []float64{0.5, 1249.875},
		"commands_per_section": 4.2, "round_trips_per_section": 4.2,
		"calls_per_section": 5.2, "cpu_us_per_section.clients": 90,
		"cpu_us_per_section.server": 31.5, "failures": 0, "retries": 1130,
		"longest_gap_ms": 12.5, "ratio_to_serial": 0.11, "jain": 1.0,
		"in_order": 0.5, "order_of_service": []float64{33.3}})
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

func TestEveryRoundIsALineForBenchstat(t *testing.T) {
	row := with(map[string]any{"rung": "reentrant/notify"})
	row.Rounds = append(row.Rounds, RowOf(map[string]any{"seconds": 2,
		"sections": 1000}))
	single := fullRow()
	single.Rounds = nil
	none := with(map[string]any{"rung": "bronze"})
	none.Rounds = []Row{RowOf(map[string]any{"seconds": 30})}
	var out strings.Builder
	require.NoError(t, WriteBenchstat(Report{Env: Env{OS: "linux",
		Arch: "amd64"}, Rows: []Row{row, single, none}}, &out))
	assert.Equal(t, `goos: linux
goarch: amd64
pkg: github.com/lockladder/lockladder/bench
BenchmarkInventory/rung=reentrant.notify/clients=1000/poll=1000ms 1000 1250000 ns/op 800 acquisitions/s 512.25 wait-p50-ms 0.11 times-serial
BenchmarkInventory/rung=reentrant.notify/clients=1000/poll=1000ms 1000 2000000 ns/op
BenchmarkInventory/rung=gold/clients=1000/poll=1000ms 1000 1250000 ns/op 800 acquisitions/s 512.25 wait-p50-ms 0.11 times-serial
`, out.String())
}
