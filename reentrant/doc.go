// Package reentrant is a lock whose owner is known to the server: an owner
// that asks again is let in again.
//
// The scenario is the third version of the lock in [interview]: A calls a
// function that takes the same lock, and waits for itself.
//
// # What changed
//
// The key is a hash with one field, {owner: count}. The acquire script lets
// the owner in once more; the lock is free when the outermost level has been
// left.
//
// Java has thread ids, and Redisson and [interview] make the owner from one.
// Go has none. The handle is the owner: re-entry means locking again through
// the same handle. A second goroutine that comes in while a call is under way
// gets lock.ErrBusy. One handle is one owner, so that goroutine needs its
// own. ErrBusy sees no more than calls at the same time: two jobs that share a
// handle and overlap are one owner that enters twice, and both are let in.
//
// [interview] counts in steps: HINCRBY 1 to enter, HINCRBY -1 to leave. A
// request whose reply was lost is sent again, and then the step is taken
// twice: the lock is never free, or free too early. Here the handle counts,
// and the scripts set the count that it wants: "I am inside twice". A
// repeated request changes nothing. So a lost reply is fixed by asking again,
// also where the driver does so without a word, as go-redis does three times
// by default. The driver does that only where a connection broke. A request
// that was not answered in time may still be on its way, and could arrive
// after the Unlock of a second one; TryLock and Lock return the error.
// (The article also proposes HSET with NX and PX. No Redis has
// that command; the steps that it lists below are what works.)
//
// The one answer that a repeated request would spoil is that of a release:
// the second one finds nothing. So a release is sent once, whatever the
// driver's settings are. When its reply is lost, Unlock returns the network's
// error, which means unknown. An outermost Unlock may then be called again,
// and lock.ErrNotHeld means that it was done the first time, or that the
// lease has ended since.
//
// The handle's count is what counts; the server's is a copy. An inner Unlock
// that fails has left its level all the same. Two deferred Unlocks release
// the lock, whatever the inner one meets.
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
// A key of another type at the lock's name, such as the string of somebody's
// SET, is nobody's lock: Unlock returns lock.ErrNotHeld, and the next renewal
// closes Lost. TryLock returns the server's WRONGTYPE.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING). A name with one of *?[]\ needs a
// backslash before that character here:
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+del +exists +hexists +hset +pexpire ~stock
//
// Whoever may write the key can take the lock from its holder, so all of its
// users must be trusted.
//
// # What still breaks
//
//   - paused_holder: A's process stops from 1 s to 31 s. Its lease ends, B
//     locks and writes. A wakes and writes. Kleppmann tells it in "How to do
//     distributed locking": no lock can prevent this, only a storage that
//     checks a token.
//   - failover, node_restart, clock_jump: one server holds the only key.
//   - Eviction lets B in beside A, as in watchdog: use maxmemory-policy
//     noeviction, or a server without a cache.
//   - hung_worker: the watchdog's price, as before.
//   - A command in flight does not see that a context without a deadline was
//     canceled: Lock may come late, by ReadTimeout. A deadline ends it
//     (lock.Bounded).
//   - An acquisition that was not answered may arrive late, even after the
//     Unlock of one that asked again. Then nobody holds the lock until the
//     lease ends.
//   - A holder whose work uses up the client's pool loses its lease, as in
//     watchdog.
//   - Lost is late on a machine that was suspended, as in watchdog.
//
// # See it fail
//
//	go test ./reentrant -red=paused_holder
package reentrant
