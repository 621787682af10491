// Package timestamp is a lock whose value is its deadline: clients read the
// clock, and the server never ends a lease.
//
// This is the second scheme of [survey]. The Redis page of SETNX describes it
// too, as the way to lock before SET could do it in one command
// (docs/sources.md).
//
// # What changed
//
// Silver needs two commands to take a lock with a lease. Here SETNX writes
// the deadline as the value, in milliseconds, so that there is no moment
// without one. The key has no time to live.
//
// A waiter reads the deadline with GET. When it has passed, the waiter takes
// the lock over: GETSET writes a new deadline and returns the old one.
// Several waiters may do so at the same instant. Only the first of them gets
// the deadline back that it has read before, and that one has the lock.
// [survey] says that several may acquire at once; with this comparison they
// do not. Without it, they do.
//
// The client's clock can be set with lock.Clock.
//
// # What still breaks
//
//   - client_clock_skew: the holder writes the deadline by its own clock, and
//     the waiter compares it with another. B's clock is 15 s ahead, so a
//     lease of 10 s that A has just begun is over in B's eyes. Both hold the
//     lock.
//   - overrun_release, slow_release: DEL doesn't name the owner, as in silver.
//   - unlock_expired: an expired key stays where it is. A unlocks after its
//     lease has ended, the DEL finds the key, and Unlock reports a false
//     success.
//   - overrun_overlap: as with every lease that nobody renews.
//   - nothing_left: the key has no TTL, so after a crash it stays in the
//     server's memory until somebody takes the lock again.
//
// Two more flaws hide in the takeover. The loser of it has overwritten the
// deadline of the winner, so the lease of another client ends later, or earlier
// if the loser's clock is behind. And if
// the holder deletes the key between a waiter's GET and its GETSET, then
// GETSET creates the key: the waiter sees no old deadline and believes that
// it was refused. The lock belongs to nobody until that deadline has passed.
//
// clock_jump does no harm here: the server's clock is not asked.
//
// # See it fail
//
//	go test ./silver/timestamp -red=client_clock_skew
package timestamp
