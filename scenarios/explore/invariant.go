package explore

import "github.com/lockladder/lockladder/internal/lab/history"

// Invariant is something that no schedule should break.
type Invariant string

// The invariants, each of them judged apart.
const (
	// Orphaned: the owner of a grant has died, or is done, nothing of it is on
	// its way, and no lease ends the grant.
	Orphaned Invariant = "orphaned"

	// ForeignRelease: a command has removed, taken over or shortened a grant
	// that it can't have meant, because the grant is another client's or began
	// after the command was sent, while its lease was running.
	ForeignRelease = Invariant(history.ForeignRelease)

	// ForeignRenewal: a command has extended such a grant.
	ForeignRenewal = Invariant(history.ForeignRenewal)

	// TwoHolders: two clients believe they hold the lock, and neither was told
	// that its lease is gone.
	TwoHolders = Invariant(history.TwoHolders)

	// LostUpdate: the storage has accepted a write by a client that had not seen
	// the write before it.
	LostUpdate = Invariant(history.LostUpdate)

	// SelfDeadlock: a client waits for a grant of its own, and nothing of it is on its way.
	SelfDeadlock Invariant = "self-deadlock"

	// StaleWrite: the storage has accepted a write although a later holder had
	// read it or written to it.
	StaleWrite = Invariant(history.StaleWrite)

	// FalseSuccess: TryLock returned true when no majority of the servers had the client's grant,
	// or with no newer fencing token, or Unlock returned nil and has freed no grant of its own.
	FalseSuccess Invariant = "false success"

	// LostWakeUp: a client waits inside Lock, the lock is free, and nothing is on
	// its way that could wake it. A timer counts only when no message was due, or
	// when it is known to be lost; see Bounds.Turn.
	LostWakeUp Invariant = "lost wake-up"
)

// Invariants are all of them, in the order in which they are shown.
var Invariants = []Invariant{Orphaned, ForeignRelease, ForeignRenewal, TwoHolders,
	LostUpdate, SelfDeadlock, StaleWrite, FalseSuccess, LostWakeUp}

// Breach is an invariant that was just broken, and by what.
type Breach struct {
	Invariant Invariant
	Event     string
}

// breaks says what breaks an invariant, if one of these does.
func breaks(broken []Breach, invariant Invariant) (event string, is bool) {
	for _, b := range broken {
		if b.Invariant == invariant {
			return b.Event, true
		}
	}
	return "", false
}
