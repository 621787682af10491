package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// readRow is a walk of a lock that readers share.
type readRow struct {
	bounds explore.Bounds
	breaks []explore.Invariant
	quick  bool // it is walked in every test run
}

// readRows are the walks with readers. No two holders are among what they break: a
// reader and a writer, or two writers, that both believe to hold the lock. A write
// that is on its way when its writer's lease ends is accepted after a reader has
// read, because readers have no token that the storage could compare.
func readRows(t *testing.T) []readRow {
	var rows []readRow
	add := func(quick bool, clients, faults int, program explore.Program,
		breaks ...explore.Invariant) {
		b := rungBounds(rung(t, "reentrant/readwrite"))
		b.Clients, b.Expiries, b.Crashes = clients, faults, faults
		b.Programs = []explore.Program{program}
		rows = append(rows, readRow{b, breaks, quick})
	}
	add(true, 2, 0, explore.Read)
	add(true, 2, 0, explore.Downgrade)
	add(false, 3, 0, explore.Read)
	add(false, 2, 1, explore.Read, explore.StaleWrite)
	add(false, 2, 1, explore.Downgrade)
	return rows
}

// A third client, one expiry and one crash: half an hour, or more.
func TestTwoReadersAndAWriter(t *testing.T) {
	if !*three {
		t.Skip("go test ./scenarios/explore -run TwoReaders -three -v -timeout 3h")
	}
	b := rungBounds(rung(t, "reentrant/readwrite"))
	b.Clients, b.Expiries, b.Crashes, b.States = 3, 1, 1, 1e7
	b.Programs = []explore.Program{explore.Read}
	report := explore.Run(t, rung(t, "reentrant/readwrite").Build, b)
	fmt.Fprintf(t.Output(), "%s", report)
	assert.True(t, report.Exhausted())
	_, found := report.Failure(explore.TwoHolders)
	assert.False(t, found)
}

func TestReadersAndWritersNeverHoldTheLockTogether(t *testing.T) {
	t.Parallel()
	rows := readRows(t)
	lines := make([]string, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			name := fmt.Sprintf("%s/%s", row.bounds.Programs[0], row.bounds)
			t.Run(name, func(t *testing.T) {
				if !row.quick && !*all {
					t.Skip("go test ./scenarios/explore -run Readers -all")
				}
				t.Parallel()
				start := time.Now()
				report := explore.Run(t, rung(t, "reentrant/readwrite").Build,
					row.bounds)
				t.Logf("%v\n%s", time.Since(start), report)
				require.True(t, report.Exhausted())
				for _, invariant := range asking {
					_, found := report.Failure(invariant)
					assert.Equal(t, slices.Contains(row.breaks, invariant), found,
						invariant)
				}
				walk := report.Walks[0]
				lines[i] = fmt.Sprintf("| %s | %s |%s %v | %d |\n", report.Bounds,
					walk.Program, cells(report, asking), walk.Schedules(),
					walk.States)
			})
		}
	})
	if t.Failed() {
		return
	}
	if *all && !slices.Contains(lines, "") { // -run may ask for some only
		generated.Compare(t, document, "readers", heading("| bounds | program |",
			asking)+strings.Join(lines, ""))
		return
	}
	for _, line := range lines {
		if line != "" {
			assert.Contains(t, generated.Text(t, document, "readers"), line,
				"docs/explorer.md is stale, run go run ./docs -generate readers")
		}
	}
}
