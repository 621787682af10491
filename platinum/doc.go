// Package platinum is a lock that knows whose it is: its value is a token,
// and Unlock looks before it deletes.
//
// This is the fourth step of the article [wukong] (docs/sources.md).
//
// # What changed
//
// TryLock makes a new token for each attempt, a random UUID, and writes it as
// the value of the key. It keeps the token when the lock is granted. Unlock
// reads the key with GET and sends DEL only when it has found its own token
// there.
//
// So gold's overrun ends well: A comes back, finds B's token, and Unlock
// returns lock.ErrNotHeld.
//
// The token belongs to a grant, not to a client. A client that kept one token
// would take its next lock for the one that it has lost.
//
// # What still breaks
//
// Looking and deleting are two commands. [wukong] shows what happens between
// them, to the half second:
//
//	 0.0 s  A gets the lock, with a lease of 10 s.
//	 9.5 s  A is done and sends GET. The server answers at once: A's token.
//	10.0 s  The lease ends.
//	11.0 s  B gets the lock.
//	12.0 s  The reply of the GET reaches A. It was true when it was sent.
//	13.0 s  A's DEL reaches the server and deletes B's lock.
//
// That is slow_get. No comparison in the client can prevent it: what a client
// has read is always old.
//
// compare_twice is the same gap when the reply is fast and DEL is slow: another
// look before DEL would change nothing.
//
// late_own_release is the same gap between an owner and itself: A gives up its
// Unlock while the DEL is on its way, gets the lock again, and the DEL arrives.
//
// The rest is about the lease, and stays until a later rung:
//
//   - overrun_overlap: A works longer than its lease, B holds the lock as
//     well.
//   - late_grant: the reply of the SET comes after the lease has ended.
//   - lost_reply: A holds the lock with a token that it has thrown away. It
//     waits for itself until the lease ends.
//   - cancelled_context: A's deferred Unlock has a context that has ended. It
//     sends nothing, and the lock stands until its lease ends.
//   - nested: a function that locks again waits for its caller.
//
// # See it fail
//
//	go test ./platinum -red=slow_get
package platinum
