package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Catalogue has every scenario, and the tables have its order: the failures that the
// articles describe, then those found in reviews, then those of read-write locks. A
// new one is a Scenario in the file of its failure family and an entry here: before
// those of read-write locks, or at the end if it is one of them.
var Catalogue = []Scenario{
	mutualExclusion,
	crashHolding,
	crashAfterFirstCommand,
	overrunRelease,
	slowGet,
	slowRelease,
	overrunOverlap,
	nested,
	pausedHolder,
	failover,
	nodeRestart,
	clockJump,
	clientClockSkew,
	lostReply,
	lostReleaseReply,
	unlockNotHeld,
	lateGrant,
	cancelledContext,
	lostWakeup,
	hungWorker,
	lostLeaseTold,
	renewalAfterUnlock,
	renewalReacquires,
	oversell,
	abandonedAcquire,
	partitionedHolder,
	renewalFailsOnce,
	unlockExpired,
	nodesDown,
	scriptCacheFlushed,
	lateOwnRelease,
	simultaneousTakeover,
	nothingLeft,

	failedUnlock,
	failedInnerUnlock,
	compareTwice,
	unlockIsNoLoss,
	leaseLength,
	fixedLease,
	heldToken,
	bornTogether,
	promptAnswers,
	tokensRise,

	renewalHangs,
	crashAfterRenewal,
	promptWake,
	impatientWaiter,
	deadWaiter,
	twoOwnersOneProcess,
	lostLeasePassedOn,
	busyNeighbors,
	farProcess,
	lateWithLosers,
	refusedByItself,
	clockDrift,
	fullServer,

	readersTogether,
	writerExcludes,
	readerCrash,
	readerRenewalIsolated,
	writerNotStarved,
	upgrade,
	downgrade,
	readerOverrun,
	readerFailover,
}

// The failure families, each in a file of its own.
const (
	Exclusion = "exclusion" // exclusion.go
	Crash     = "crash"     // crash.go
	Ownership = "ownership" // ownership.go: whose lock is released
	Overrun   = "overrun"   // overrun.go: work, or a grant, outlives the lease
	Reentrant = "re-entry"  // reentry.go: the owner asks again
	Server    = "server"    // server.go: what happens to the nodes
	Waking    = "waking"    // waking.go: how waiters learn of a release
	Loss      = "renewal"   // renewal.go: renewal, and being told of a loss
	Leasing   = "lease"     // lease.go: how long a lease lasts at the server
	Waiting   = "waiting"   // waiting.go: how long a call takes, and what it asks
	Fencing   = "fencing"   // fencing.go: the tokens of successive grants
	Process   = "processes" // process.go: owners in one, and far ones
	Sharing   = "sharing"   // readwrite.go and readers.go: readers and a writer
)

// Families are the failure families in the order in which they are shown.
var Families = []string{Exclusion, Crash, Ownership, Overrun, Reentrant, Server,
	Waking, Loss, Leasing, Waiting, Fencing, Process, Sharing}

// Find returns the scenario of that name. Its error names up to three whose names are
// near: one letter in three differs, or a part of the name was typed.
func Find(name string) (Scenario, error) {
	far := map[string]int{}
	var near []string
	for _, s := range Catalogue {
		if s.Name == name {
			return s, nil
		}
		if name == "" || !strings.Contains(s.Name, name) {
			far[s.Name] = levenshtein.ComputeDistance(name, s.Name)
		}
		if far[s.Name]*3 <= len(name) {
			near = append(near, s.Name)
		}
	}
	if len(near) == 0 {
		return Scenario{}, fmt.Errorf("there is no scenario %q", name)
	}
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return Scenario{}, fmt.Errorf("there is no scenario %q; the nearest are %s",
		name, strings.Join(near[:min(3, len(near))], ", "))
}
