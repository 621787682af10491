package scenarios

// Catalogue has every scenario in the order in which they are numbered. A new
// one is a function in the file of its failure family and an entry here.
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
}

// The failure families, each told in a file of its own.
const (
	Exclusion = "exclusion" // exclusion.go
	Crash     = "crash"     // crash.go
	Ownership = "ownership" // ownership.go: whose lock is released
	Overrun   = "overrun"   // overrun.go: work, or a grant, outlives the lease
	Reentrant = "re-entry"  // reentry.go: the owner asks again
	Server    = "server"    // server.go: what happens to the nodes
	Waking    = "waking"    // waking.go: how waiters learn of a release
	Loss      = "renewal"   // renewal.go: renewal, and being told of a loss
)

// Families are the failure families in the order in which they are shown.
var Families = []string{Exclusion, Crash, Ownership, Overrun, Reentrant, Server,
	Waking, Loss}
