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
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// waitRow is a walk of a lock whose waiters are woken by messages.
type waitRow struct {
	rung   string
	bounds explore.Bounds
	quick  bool // it is walked in every test run
}

// waitRows are the walks with Lock. Two clients are a holder and a waiter, by
// turns; two owners in client A share a subscription, and so a waiter that gives
// up may have been the only one to hear of a release.
func waitRows() []waitRow {
	var rows []waitRow
	for _, name := range []string{"reentrant/notify", "reentrant/fair", "reentrant/cohort"} {
		add := func(quick bool, b explore.Bounds) {
			b.Clients, b.Attempts = max(b.Clients, 1), 5
			b.Programs = []explore.Program{explore.Wait}
			if name != "reentrant/notify" {
				b.Turn = func(key string) string { return lock.Beside(key, "turn") }
			}
			rows = append(rows, waitRow{name, b, quick})
		}
		add(true, explore.Bounds{Clients: 2})
		add(false, explore.Bounds{Clients: 2, Expiries: 1})
		add(false, explore.Bounds{Clients: 2, Expiries: 1, LostMessages: 1})
		add(name == "reentrant/notify", explore.Bounds{Clients: 2, LostMessages: 1})
		add(false, explore.Bounds{Clients: 2, LostReplies: 1})
		add(false, explore.Bounds{Clients: 2, GiveUps: 1})
		add(false, explore.Bounds{Clients: 1, Owners: 2})
		add(false, explore.Bounds{Clients: 1, Owners: 2, GiveUps: 1})
	}
	return rows
}

func (r waitRow) name() string { return fmt.Sprintf("%s/%s", r.rung, r.bounds) }

// No schedule within the bounds loses a wake-up.
func TestNoWakeUpIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("it walks every schedule of waiting locks")
	}
	t.Parallel()
	rows := waitRows()
	lines := make([]string, len(rows))
	t.Run("rungs", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.name(), func(t *testing.T) {
				if !row.quick && !*all {
					t.Skip("go test ./scenarios/explore -run WakeUp -all")
				}
				if explore.Brief() && row.bounds.LostMessages > 0 {
					t.Skip("takes too long with -short or -race")
				}
				t.Parallel()
				start := time.Now()
				report := explore.Run(t, rung(t, row.rung).Build, row.bounds)
				t.Logf("%v\n%s", time.Since(start), report)
				require.True(t, report.Exhausted())
				_, lost := report.Failure(explore.LostWakeUp)
				assert.False(t, lost, "%s", report)
				lines[i] = waitLine(row, report)
			})
		}
	})
	if t.Failed() {
		return
	}
	if *all && !slices.Contains(lines, "") { // -run may ask for some only
		generated.Compare(t, document, "waits", heading("| rung | bounds |", judgedWaiting)+strings.Join(lines, ""))
		return
	}
	for _, line := range lines {
		if line != "" {
			assert.Contains(t, generated.Text(t, document, "waits"), line,
				"docs/explorer.md is stale, run go run ./docs -generate waits")
		}
	}
}

// B holds the lock, A1 and A2 of one process wait. The release wakes A1 just before
// it gives up: it must wake A2.
const givesUp = "wait: B> B< A> A> A< A< A> A< A> B= B> A~ Ag A< B<"

func TestAWaiterThatGivesUpWakesTheNext(t *testing.T) {
	replayed := explore.Replay(t, rung(t, "reentrant/notify").Build,
		explore.Bounds{Owners: 2}, givesUp)
	assert.Contains(t, replayed.Timeline, "A1      Lock returns canceled")
	for _, b := range replayed.Broken {
		t.Errorf("%s breaks: %s: %s", b.Invariant, b.Event, givesUp)
	}
}

// judgedWaiting are the invariants that the table of waiting locks has.
var judgedWaiting = []explore.Invariant{explore.Orphaned, explore.ForeignRelease,
	explore.ForeignRenewal, explore.TwoHolders, explore.StaleWrite,
	explore.FalseSuccess, explore.LostWakeUp}

func waitLine(row waitRow, report explore.Report) string {
	walk := report.Walks[0]
	return fmt.Sprintf("| %s | %s |%s %v | %d |\n", row.rung, report.Bounds,
		cells(report, judgedWaiting), walk.Schedules(), walk.States)
}
