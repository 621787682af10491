// Package fenced is the watchdog's lock with a number for each grant, so that a
// storage can turn a late writer away.
//
// The scenario is Kleppmann's, in "How to do distributed locking": a client
// pauses, its lease ends, another one writes, and the first one wakes and
// writes as well. No lock with a lease can prevent it: whatever the client
// checks before a write, the pause may come after the check.
//
// # What changed
//
// A counter stands beside the lock. A script takes the lock and raises the
// counter with INCR in one step, and returns the new value: the fencing token.
// (In two commands, a client that pauses between them would fetch a token that
// is higher than the next holder's, and nothing but its own clock could tell.)
// Token returns it. The holder sends it with every read and every write, and
// the storage refuses a token that is lower than one it has seen.
//
//	 1 s  A holds the lock with token 33. Its process stops.
//	10 s  The lease ends. B gets the lock with token 34 and writes.
//	31 s  A wakes and writes with token 33. The storage has seen 34: refused.
//
// Tokens rise strictly over all grants of the key. An attempt that is refused
// takes none. A grant whose reply is lost leaves a gap.
//
// The counter is never removed and has no lease. It must outlive every lock,
// or it would begin at 1 again. So it must not be evicted either, as an allkeys
// policy may do when a server runs out of memory. It costs one small key for
// each name that was ever locked.
//
// The script is sent once, as the SET NX was: a second one would be refused by
// the first. All else is the watchdog's, its renewals, Lost and the limits
// that its documentation names.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING). A name with one of *?[]\ needs a
// backslash before that character here. The counter of a lock that has a hash
// tag, such as {shop}:stock, is {shop}:stock::token.
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+exists +incr +set +get +del +pexpire ~stock ~{stock}:token
//
// Whoever may write the keys can take the lock from its holder, and set the
// counter back, so all of its users must be trusted.
//
// # What still breaks
//
// A token does nothing by itself. The storage must check it, at the moment of
// the write, and must remember the highest one. Redis cannot do that for a
// file or a table. A storage that can compare a token can often compare a
// version instead, and then needs no lock to be safe.
//
//   - failover: the replica that is promoted may not have seen the last INCR.
//     The counter goes back, and the next grant has a token that was given
//     before. The storage cannot tell the two apart: A's late write is taken.
//     A restart that has lost it (empty, from a snapshot, with appendfsync
//     everysec) does the same, and so does a server that evicts the counter.
//   - tokens_rise: tokens rise as long as the counter lives. When the server
//     has lost it, the storage refuses every holder until the tokens have
//     caught up.
//   - node_restart, clock_jump: there are still two holders. Their writes are
//     ordered as long as the counter has survived, their other work is not.
//   - hung_worker, nested, lost_reply: as in watchdog.
//
// In a Redis Cluster whose slot is being moved, a script with two keys of which
// one is missing is answered TRYAGAIN. The counter stays and the lock comes and
// goes, so nothing is granted until the move has finished; TryLock and Lock
// return the error.
//
// # See it fail
//
//	go test ./diamond/fenced -red=failover
package fenced
