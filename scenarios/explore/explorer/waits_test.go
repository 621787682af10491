package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// waitRows are the walks with Lock. Two clients are a holder and a waiter, by
// turns; two owners in client A share a subscription, and so a waiter that gives
// up may have been the only one to hear of a release.
func waitRows(t *testing.T) []row {
	var rows []row
	for _, name := range []string{"reentrant/notify", "reentrant/fair", "reentrant/cohort"} {
		add := func(quick bool, b explore.Bounds) {
			b.Clients, b.Attempts = max(b.Clients, 1), 5
			b.Programs = []explore.Program{explore.Wait}
			if name != "reentrant/notify" {
				b.Turn = func(key string) string { return lock.SecondKey(key, "turn") }
			}
			rows = append(rows, row{rung: locktest.Find(t, name), bounds: b, quick: quick,
				slow: b.LostMessages > 0})
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

// No schedule within the bounds loses a wake-up.
func TestNoWakeUpIsLost(t *testing.T) {
	locktest.Long(t, "it walks every schedule of waiting locks")
	t.Parallel()
	table := table{part: "waits", run: "WakeUp", columns: "| rung | bounds |",
		judged: judgedWaiting}
	table.walk(t, waitRows(t), func(t *testing.T, _ row, report explore.Report) {
		_, lost := report.Failure(explore.LostWakeUp)
		assert.False(t, lost, "%s", report)
	})
}

// B holds the lock, A1 and A2 of one process wait. The release wakes A1 just before
// it gives up: it must wake A2.
const givesUp = "wait: B> B< A> A> A< A< A> A< A> B= B> A~ Ag A< B<"

func TestAWaiterThatGivesUpWakesTheNext(t *testing.T) {
	replayed := explore.Replay(t, locktest.Find(t, "reentrant/notify").Build,
		explore.Bounds{Owners: 2}, givesUp)
	assert.Regexp(t, "A1 +Lock returns canceled", replayed.Timeline)
	for _, b := range replayed.Broken {
		t.Errorf("%s breaks: %s: %s", b.Invariant, b.Event, givesUp)
	}
}

// judgedWaiting are the invariants that the table of waiting locks has.
var judgedWaiting = []explore.Invariant{explore.Orphaned, explore.ForeignRelease,
	explore.ForeignRenewal, explore.TwoHolders, explore.StaleWrite,
	explore.FalseSuccess, explore.LostWakeUp}
