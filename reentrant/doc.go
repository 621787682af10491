// Package reentrant is a lock whose owner is known to the server: an owner
// that asks again is let in again.
//
// The story is the third version of the lock in seeds/004: A calls a function
// that takes the same lock, and waits for itself.
//
// # What changed
//
// The key is a hash with one field, {owner: count}. The acquire script lets
// the owner in once more; the lock is free when the outermost level has been
// left.
//
// Java has thread ids, and Redisson and the source make the owner from one.
// Go has none. The handle is the owner: re-entry means locking again through
// the same handle. A second goroutine that comes in while a call is under way
// gets lock.ErrBusy. One handle is one owner, so that goroutine needs its
// own.
//
// The source counts in steps: HINCRBY 1 to enter, HINCRBY -1 to leave. A
// request whose reply was lost is sent again, and then the step is taken
// twice: the lock is never free, or free too early. Here the handle counts,
// and the scripts set the count that it wants: "I am inside twice". A
// repeated request changes nothing. So a lost reply is mended by asking
// again. An outermost Unlock that is repeated may then say lock.ErrNotHeld:
// it was done the first time. (The source also proposes HSET with NX and PX.
// No Redis has that command; the steps that it lists below are what works.)
//
// To find oneself after a lost reply, the owner id must stay the same. To be
// safe from one's own late release, it must change. So the rule is: an id
// that was not answered is kept; an id that was sent with a release of the
// outermost level is never used for another acquisition. An inner Unlock
// keeps the id, and a repeated Unlock sends the old one.
//
// An owner that is inside and finds its lease gone gets lock.ErrLost, even
// when the lock is free: what it protected is no longer protected. It unlocks
// once for each level that it has entered, and may then lock anew.
//
// # What still breaks
//
//   - paused_holder: A's process stops from 1 s to 31 s. Its lease ends, B
//     locks and writes. A wakes and writes. Kleppmann tells it in "How to do
//     distributed locking": no lock can prevent this, only a storage that
//     checks a token.
//   - failover, node_restart, clock_jump: one server holds the only key.
//   - hung_worker: the watchdog's price, as before.
//
// # See it fail
//
//	go test ./reentrant -red -run /paused_holder
package reentrant
