// Package bronze is the simplest lock that Redis can offer: a key that only
// one client can create.
//
// This is the first step of the article [wukong]; [inventory] runs it with 1000
// clients and a stock of 100 (docs/sources.md).
//
// # What changed
//
// Before this, every process had a mutex of its own. With four services that
// is four locks, and two services write the same value at once. The lock has
// to be in a place that all of them can see.
//
// That place is a key. SETNX writes a key only when it is not there, and the
// server runs one command at a time, so the reply says to exactly one client
// that it has written the key. That client holds the lock. The others ask again
// after a pause. The holder deletes the key with DEL when it is done.
//
// It must be one command. [inventory] shows the step before: read a lock
// variable, check that it is 0, write 1. Two clients can both read 0.
//
// The Redis page of SETNX says to send SET with the option NX instead. It
// does the same, and the client library does that here.
//
// [wukong] sleeps for 100 ms and then calls itself, and says that the sleep
// avoids a stack overflow. It doesn't: the stack only grows more slowly. Here
// a loop asks, and the pause spares the server.
//
// # What still breaks
//
// There is no lease. New checks its ttl and ignores it.
//
//   - crash_holding: A creates the key and crashes, and no client is left to
//     delete it. B waits for a minute, or for a year.
//   - lost_reply: the server creates the key, and its reply is lost. A doesn't
//     know that it has the lock. It asks again and is refused by itself.
//   - hung_worker: A lives, but never finishes. B can't see the difference.
//   - unlock_not_held: DEL doesn't say who sends it. B, which never had the
//     lock, frees A's. The value of the key is the same for all.
//   - cancelled_context: a deferred Unlock that is given a cancelled context
//     sends nothing, and the key stays.
//   - nothing_left: the key of a client that crashed stays in the server's
//     memory forever, because it has no TTL.
//   - failed_unlock: the connection breaks before DEL is sent. A is told so,
//     and if it doesn't unlock again, the key stays.
//
// One strength of bronze is the same flaw seen from the other side: work that
// takes too long never meets a second holder, because the lock never ends on
// its own.
//
// # See it fail
//
//	go test ./bronze -red=crash_holding
package bronze
