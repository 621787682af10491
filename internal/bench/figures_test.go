package bench

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waited makes a section of each wait.
func waited(waits ...time.Duration) []Stamp {
	var stamps []Stamp
	for _, wait := range waits {
		stamps = append(stamps, Stamp{Asked: 5, Entered: 5 + int64(wait)})
	}
	return stamps
}

func TestAPercentileIsAWaitThatSoManyDoNotExceed(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(1000-i)*time.Millisecond)
	}
	w := waits(waited(all...))
	assert.InEpsilon(t, 500, w.P50, 0.001, "three digits are kept")
	assert.InEpsilon(t, 990, w.P99, 0.001)
	assert.InEpsilon(t, 1000, w.Max, 0.001)
	require.Len(t, w.Percentiles, len(Percents))
	for i, percent := range Percents {
		assert.InEpsilon(t, max(percent*10, 1), w.Percentiles[i], 0.002)
	}
	w = waits(waited(2*time.Millisecond, time.Millisecond))
	assert.InEpsilon(t, 1, w.P50, 0.001)
	assert.InEpsilon(t, 2, w.P99, 0.001)
	assert.InEpsilon(t, 1, w.Percentiles[0], 0.001)
	assert.InEpsilon(t, 3600e3, waits(waited(5*time.Hour)).Max, 0.001,
		"longer than an hour is an hour")
}

func TestAClientThatDidNotWaitForALockIsInNoPercentile(t *testing.T) {
	assert.Nil(t, waits(nil))
	assert.Nil(t, waits([]Stamp{{Asked: -1, Entered: 7, Left: 9}}))
}

func TestJainsIndexIsOneWhenAllHadAsMuch(t *testing.T) {
	assert.Equal(t, new(1.0), jain([]float64{3, 3, 3, 3}))
	assert.Equal(t, new(0.25), jain([]float64{8, 0, 0, 0}))
	assert.Equal(t, new(0.9), jain([]float64{1, 2}))
	assert.Nil(t, jain([]float64{0, 0}))
	assert.Nil(t, jain(nil))
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

func TestWithoutSectionsNothingIsPerSection(t *testing.T) {
	assert.Nil(t, Per(12, 0))
	assert.Equal(t, new(0.333), Per(1, 3))
}

func TestAFigureThatWasNotMeasuredIsNullInJSON(t *testing.T) {
	report := Report{Schema: 2, Rows: []Row{{Rung: "gold", Kind: Rung}}}
	var out bytes.Buffer
	require.NoError(t, report.Write(&out))

	var got struct {
		Env  map[string]any
		Rows []map[string]any
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	for _, name := range []string{"left", "max_holders", "acquisitions_per_second",
		"wait_ms", "commands_per_section", "round_trips_per_section", "retries",
		"ratio_to_serial", "jain", "first_failure", "rounds", "in_order",
		"cpu_us_per_section", "calls_per_section", "loop_seconds",
		"serial_max_over_p50"} {
		assert.Contains(t, got.Rows[0], name)
		assert.Nil(t, got.Rows[0][name], name)
	}
	assert.Contains(t, got.Env, "server_version")
	assert.Nil(t, got.Env["server_version"])
	assert.Equal(t, 0.0, got.Rows[0]["sold"], "none sold is a figure")
}

func TestAReportHasTheFieldsThatItsReadersKnow(t *testing.T) {
	row := fullRow()
	report := Report{Schema: 2, Rows: []Row{row}}
	var out bytes.Buffer
	require.NoError(t, report.Write(&out))

	var got struct {
		Schema int
		Rows   []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, 2, got.Schema)
	assert.JSONEq(t, `{"rung":"gold","kind":"rung","nodes":1,"clients":1000,"table_clients":1000,
		"stock":100,"services":1,"loop_seconds":null,"poll_ms":1000,
		"fixed_poll":false,"sold":100,"left":0,"oversold":0,"lost_updates":0,"max_holders":1,
		"finished":true,"turns":1000,"sections":1000,"seconds":1.25,
		"acquisitions_per_second":800,
		"wait_ms":{"p50":512.25,"p99":1201.5,"max":1249.875,
		"percentiles":[0.5,1249.875]},
		"commands_per_section":4.2,"round_trips_per_section":4.2,
		"calls_per_section":5.2,"cpu_us_per_section":{"clients":90,"server":31.5},
		"failures":0,"first_failure":null,"not_held":0,"absent":0,
		"retries":1130,"stuck":0,"longest_gap_ms":12.5,
		"ratio_to_serial":0.11,"serial_max_over_p50":null,"rounds":[{"seconds":1.25,"sections":1000,
		"acquisitions_per_second":800,"ratio_to_serial":0.11,"wait_p50_ms":512.25,
		"wait_max_ms":1249.875,"serial_max_over_p50":null,"oversold":0}],"jain":1,"in_order":0.5,
		"order_of_service":[33.3]}`, string(got.Rows[0]))
}

func TestAReportWithoutRowsHasAnEmptyList(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Report{Schema: 2}.Write(&out))
	assert.Contains(t, out.String(), `"rows": []`)
}

// fullRow has every figure.
func fullRow() Row {
	return Row{
		Rung: "gold", Kind: Rung, Nodes: 1, Clients: 1000, InTableOf: 1000, Stock: 100,
		Services: 1, PollMs: 1000, Sold: 100, Left: new(int64(0)),
		MaxHolders: new(int64(1)), Finished: true, Turns: 1000, Sections: 1000,
		Seconds: 1.25, AcquisitionsPerSecond: new(800.0),
		Wait: &Wait{P50: 512.25, P99: 1201.5, Max: 1249.875,
			Percentiles: []float64{0.5, 1249.875}},
		CommandsPerSection: new(4.2), RoundTripsPerSection: new(4.2),
		CallsPerSection: new(5.2), CPU: &CPU{Clients: 90, Server: 31.5},
		Retries: new(int64(1130)), LongestGapMs: 12.5, RatioToSerial: new(0.11),
		Rounds: []Round{{Seconds: 1.25, Sections: 1000,
			AcquisitionsPerSecond: new(800.0), RatioToSerial: new(0.11),
			WaitP50: new(512.25), WaitMax: new(1249.875)}},
		Jain: new(1.0), InOrder: new(0.5), Service: []float64{33.3}, meant: 1,
	}
}
