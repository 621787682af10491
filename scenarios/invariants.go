package scenarios

import "github.com/lockladder/lockladder/internal/lab/history"

// The invariants of the scenarios.
const (
	TwoHolders     = history.TwoHolders     // two clients believe they hold the lock
	ForeignRelease = history.ForeignRelease // a command ends another one's grant
	ForeignRenewal = history.ForeignRenewal // a renewal reaches another one's grant
	LostUpdate     = history.LostUpdate     // a write destroys one it had not seen
	StaleWrite     = history.StaleWrite     // a write comes after a later holder's

	Orphaned           = "orphaned"             // free, yet nobody can have it
	FalseLoss          = "false loss"           // lost, or said to be, without need
	SelfDeadlock       = "self-deadlock"        // the owner waits for itself
	NotTold            = "not told"             // the holder learns nothing of its loss
	FalseSuccess       = "false success"        // an answer that the server denies
	WrongToken         = "wrong token"          // the fencing token is not the grant's
	RenewalAfterUnlock = "renewal after unlock" // something is sent for a lock given back
	Unavailable        = "unavailable"          // refused, though it could be granted
	Hangs              = "hangs"                // no answer in bounded time
	LeftBehind         = "left behind"          // a key that no expiry removes
	BusyWaiting        = "busy waiting"         // a waiter sends more than it need
	WrongLease         = "wrong lease"          // the lease is not the one asked for
	LateWakeUp         = "late wake-up"         // released, and a waiter sleeps on
	Herd               = "thundering herd"      // one release, and all waiters ask
	Starvation         = "starvation"           // others get in again and again
)

// Feature is something that a lock may decline to offer.
type Feature string

// The features that scenarios ask for.
const (
	Reentry     Feature = "re-entry" // lock again through the same handle
	Renewal     Feature = "renewal"  // the lease is renewed while the lock is held
	LossNotices Feature = "lost"     // Lost, see LossNotifier

	// FixedLeases says that the option FixedLease turns renewal off.
	FixedLeases Feature = "fixed lease"
)

var features = []Feature{Reentry, Renewal, LossNotices, FixedLeases}
