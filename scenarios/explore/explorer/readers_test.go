package main

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// readRows are the walks with readers. No two holders are among what they break: a
// reader and a writer, or two writers, that both believe they hold the lock. A write
// that is on its way when its writer's lease ends is accepted after a reader has
// read, because readers have no token that the storage could compare.
func readRows(t *testing.T) []row {
	var rows []row
	readWrite := locktest.Find(t, "reentrant/readwrite")
	add := func(quick bool, clients, faults int, program explore.Program,
		breaks ...explore.Invariant) {
		b := rungBounds(readWrite)
		b.Clients, b.Expiries, b.Crashes = clients, faults, faults
		b.Programs = []explore.Program{program}
		rows = append(rows, row{rung: readWrite, bounds: b, quick: quick,
			breaks: breaks})
	}
	add(true, 2, 0, explore.Read)
	add(true, 2, 0, explore.Downgrade)
	add(false, 3, 0, explore.Read)
	add(false, 2, 1, explore.Read, explore.StaleWrite)
	add(false, 2, 1, explore.Downgrade)
	return rows
}

func TestReadersAndWritersNeverHoldTheLockTogether(t *testing.T) {
	locktest.Long(t, "it walks every row of the table")
	t.Parallel()
	table := table{part: "readers", run: "Readers", columns: "| bounds | program |",
		judged: asking}
	table.walk(t, readRows(t), breaksWhatItsRowSays)
}
