package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/report"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// run is a report of two rungs and a baseline, with 10 and 100 clients.
func run() bench.Report {
	r := bench.Report{Schema: 2, Env: bench.Env{Go: "go1.26.8",
		OS: "linux", Arch: "amd64", Server: "redis", CPUs: 2,
		ServerVersion: new("7.0.15"), CPU: new("A <fast> one")}}
	for _, clients := range []int{10, 100} {
		for _, name := range []string{"serial-limit", "gold", "redlock"} {
			kind, own := bench.Rung, clients
			if name == "serial-limit" {
				kind, own = bench.Baseline, 1
			}
			row := bench.RowOf(map[string]any{"rung": name, "kind": string(kind),
				"clients": own, "table_clients": clients, "turns": clients,
				"sections": clients, "seconds": 0.5,
				"acquisitions_per_second": 2 * clients, "commands_per_section": 4.5,
				"round_trips_per_section": 4.5, "wait_ms.p50": 5, "wait_ms.p99": 9,
				"wait_ms.max": 10, "in_order": 0.75, "jain": 1, "poll_ms": 0,
				"ratio_to_serial": 0.25, "finished": true,
				"order_of_service": []float64{100, 0}})
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

func written(t *testing.T, r bench.Report) string {
	var out bytes.Buffer
	require.NoError(t, report.Write(r, &out))
	return out.String()
}

func TestThePageNeedsNothingElse(t *testing.T) {
	page := written(t, run())
	body := strings.ReplaceAll(page, ` xmlns="http://www.w3.org/2000/svg"`, "")
	assert.NotContains(t, body, "://")
	assert.NotRegexp(t, `<(script|img|link|iframe)[^>]*(src|href)=`, body)
}

func TestAReportWithoutRowsIsAPage(t *testing.T) {
	page := written(t, bench.Report{})
	assert.NotContains(t, page, "<table>")
	assert.Contains(t, page, "</html>")
}

// committed reads the run that lies in docs.
func committed(t *testing.T) bench.Report {
	content, err := os.ReadFile(docs("benchmark.json"))
	require.NoError(t, err)
	var r bench.Report
	require.NoError(t, json.Unmarshal(content, &r))
	return r
}

func docs(name string) string {
	return filepath.Join("..", "..", "docs", name)
}

func TestThePicturesAreDrawnFromTheCommittedRun(t *testing.T) {
	for _, p := range report.Pictures {
		var want bytes.Buffer
		require.NoError(t, p.Draw(committed(t), &want))
		require.NotEmpty(t, want.String(), p.Name)
		generated.Compare(t, "benchmark-"+p.Name+".svg", "", want.String())
	}
}

// pictures are those of a report, by their names.
func pictures(t *testing.T, r bench.Report) map[string]string {
	t.Helper()
	drawn := map[string]string{}
	for _, p := range report.Pictures {
		var b strings.Builder
		require.NoError(t, p.Draw(r, &b))
		drawn[p.Name] = b.String()
	}
	return drawn
}

func TestAPictureNamesItsUnitAndItsMachine(t *testing.T) {
	for name, axis := range map[string]string{"throughput": "acquisitions a second",
		"waits": "wait, ms", "growth": "commands",
		"serial": "100 clients: acquisitions a second ÷ those of one client alone" +
			" (serial limit)"} {
		picture := pictures(t, run())[name]
		assert.Contains(t, picture, "A &lt;fast&gt; one, logarithmic<")
		assert.Contains(t, picture, ">"+axis+"</text>")
		assert.Contains(t, picture, ">gold</text>")
	}
}

func TestTheNumberBesideDotsIsThatOfTheMostClients(t *testing.T) {
	r := run()
	for i, row := range r.Rows {
		r.Rows[i].Set("acquisitions_per_second", 5000.0/float64(row.Count("clients")))
	}
	picture := pictures(t, r)["throughput"]
	assert.Contains(t, picture, ">100 clients</text>", "the column's head")
	assert.Regexp(t, `>gold</text>(\n.*){3}\n.* text-anchor="end" fill="#173f6d">50.0</text>`,
		picture)
	assert.NotContains(t, picture, ">500</text>", "the other dot's")
}

func TestThePictureOfTheSerialLimitSaysWhatWasFound(t *testing.T) {
	r := run()
	r.Rows[4].Set("ratio_to_serial", 0.1)
	r.Rows[5].Set("ratio_to_serial", 0.25)
	assert.Empty(t, bench.Finding(r.Rows), "no lock wakes its waiters")
	r.Rows[5].Set("rung", "reentrant/notify")
	assert.Contains(t, pictures(t, r)["serial"], "The slowest lock that wakes its"+
		" waiters (reentrant/notify) is 2.5 times as fast as the fastest that polls"+
		" (gold)")
	r.Rows[5].Set("ratio_to_serial", 0.1)
	assert.Empty(t, bench.Finding(r.Rows), "polling is as fast")
}

func TestARowThatCantBeComparedIsMarked(t *testing.T) {
	r := run()
	for name, picture := range pictures(t, r) {
		assert.NotContains(t, picture, "✗", name)
	}
	for i := range r.Rows {
		r.Rows[i].Set("poll_ms", 100)
		switch r.Rows[i].Name() {
		case "gold":
			r.Rows[i].Set("lost_updates", 3)
		case "redlock":
			r.Rows[i].Set("poll_ms", 1000)
		}
	}
	for name, picture := range pictures(t, r) {
		if name == "order" {
			continue // its squares are not compared
		}
		assert.Contains(t, picture, `fill="#b3261e">gold ✗</text>`, name)
		assert.Contains(t, picture, ">✗ loses updates: fast and wrong</text>", name)
		assert.Contains(t, picture, ">redlock †</text>", name)
		assert.Contains(t, picture, "† with 100 clients, its clients pause for up to 1s,"+
			" the others' for up to 100ms</text>", name)
	}
}

func TestThePageOpensWithThePicturesAndFoldsItsTable(t *testing.T) {
	r := run()
	page := written(t, r)
	last := 0
	for _, picture := range pictures(t, r) {
		at := strings.Index(page, picture)
		require.Positive(t, at)
		last = max(last, at)
	}
	assert.Less(t, last, strings.Index(page, "<details>"))
}

func TestWithOneNumberOfClientsNothingGrows(t *testing.T) {
	r := run()
	r.Rows = r.Rows[:3]
	drawn := pictures(t, r)
	assert.Empty(t, drawn["growth"])
	assert.NotEmpty(t, drawn["throughput"])
}

func TestTheCommittedRunNamesItsEnvironment(t *testing.T) {
	r := committed(t)
	assert.Equal(t, "redis", r.Env.Server)
	assert.NotNil(t, r.Env.ServerVersion)
	assert.NotNil(t, r.Env.CPU)
	assert.NotNil(t, r.Env.Commit)
	assert.NotNil(t, r.Env.Pinned)
	assert.NotContains(t, *r.Env.Commit, "+", "the code of a commit")
	assert.False(t, r.Env.Interrupted)
	measured := map[string]bool{}
	for _, row := range r.Rows {
		assert.Greater(t, len(row.Rounds), 2, row.Name())
		measured[fmt.Sprint(row.Name(), " ", row.Count("clients"))] = true
	}
	for _, rung := range ladder.Rungs {
		for _, clients := range []int{10, 100, 1000} {
			assert.Contains(t, measured, fmt.Sprint(rung.Name, " ", clients))
		}
	}
}
