package benchmark

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPercentileIsASampleThatSoManyDoNotExceed(t *testing.T) {
	var samples []time.Duration
	for i := range 1000 {
		samples = append(samples, time.Duration(1000-i)*time.Millisecond)
	}

	assert.Equal(t, &Wait{P50: 500, P99: 990, Max: 1000}, waits(samples))
	assert.Equal(t, 1000*time.Millisecond, samples[0], "the input is sorted")
	assert.Equal(t, &Wait{P50: 7, P99: 7, Max: 7},
		waits([]time.Duration{7 * time.Millisecond}))
	assert.Equal(t, &Wait{P50: 1, P99: 2, Max: 2},
		waits([]time.Duration{2 * time.Millisecond, time.Millisecond}))
}

func TestWithoutSamplesThereIsNoWait(t *testing.T) {
	assert.Nil(t, waits(nil))
}

func TestJainsIndexIsOneWhenAllHadAsMuch(t *testing.T) {
	assert.Equal(t, new(1.0), jain([]float64{3, 3, 3, 3}))
	assert.Equal(t, new(0.25), jain([]float64{8, 0, 0, 0}))
	assert.Equal(t, new(0.9), jain([]float64{1, 2}))
	assert.Nil(t, jain([]float64{0, 0}))
	assert.Nil(t, jain(nil))
}

func TestWithoutSectionsNothingIsPerSection(t *testing.T) {
	assert.Nil(t, per(12, 0))
	assert.Equal(t, new(0.333), per(1, 3))
}

func TestAFigureThatWasNotMeasuredIsNullInJSON(t *testing.T) {
	report := Report{Schema: 1, Rows: []Row{{Rung: "gold", Kind: Rung}}}
	var out bytes.Buffer
	require.NoError(t, report.Write(&out))

	var got struct {
		Env  map[string]any
		Rows []map[string]any
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	for _, name := range []string{"left", "max_holders", "handovers_per_second",
		"wait_ms", "commands_per_section", "round_trips_per_section", "retries",
		"ratio_to_serial", "jain", "first_failure"} {
		assert.Contains(t, got.Rows[0], name)
		assert.Nil(t, got.Rows[0][name], name)
	}
	assert.Contains(t, got.Env, "server_version")
	assert.Nil(t, got.Env["server_version"])
	assert.Equal(t, 0.0, got.Rows[0]["sold"], "none sold is a figure")
}

func TestAReportHasTheFieldsThatItsReadersKnow(t *testing.T) {
	row := fullRow()
	report := Report{Schema: 1, Rows: []Row{row}}
	var out bytes.Buffer
	require.NoError(t, report.Write(&out))

	var got struct {
		Schema int
		Rows   []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, 1, got.Schema)
	assert.JSONEq(t, `{"rung":"gold","kind":"rung","nodes":1,"clients":1000,
		"stock":100,"poll_ms":1000,"sold":100,"left":0,"oversold":0,"max_holders":1,
		"finished":true,"turns":1000,"sections":1000,"seconds":1.25,
		"handovers_per_second":800,
		"wait_ms":{"p50":512.25,"p99":1201.5,"max":1249.875},
		"commands_per_section":4.2,"round_trips_per_section":4.2,"failures":0,
		"first_failure":null,"absent":0,"retries":1130,"ratio_to_serial":0.11,
		"jain":1}`, string(got.Rows[0]))
}

func TestAReportWithoutRowsHasAnEmptyList(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Report{Schema: 1}.Write(&out))
	assert.Contains(t, out.String(), `"rows": []`)
}

// fullRow has every figure.
func fullRow() Row {
	return Row{
		Rung: "gold", Kind: Rung, Nodes: 1, Clients: 1000, Stock: 100,
		PollMs: 1000, Sold: 100, Left: new(int64(0)), MaxHolders: new(int64(1)),
		Finished: true, Turns: 1000, Sections: 1000, Seconds: 1.25,
		HandoversPerSecond: new(800.0),
		Wait:               &Wait{P50: 512.25, P99: 1201.5, Max: 1249.875},
		CommandsPerSection: new(4.2), RoundTripsPerSection: new(4.2),
		Retries: new(int64(1130)), RatioToSerial: new(0.11), Jain: new(1.0),
		meant: 1,
	}
}
