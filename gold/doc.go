// Package gold is a lock that is taken together with its lease, in one
// command.
//
// This is the third step of the article [wukong] (docs/sources.md).
//
// # What changed
//
// SET has options: NX writes only when the key is not there, and PX (or EX,
// in seconds) sets the time to live. Redis has them since 2.6.12. Both happen
// or neither does. A client that dies at any moment leaves a key with a
// lease, or no key.
//
// The client library sends EX when the lease is a number of whole seconds,
// and PX otherwise.
//
// # What still breaks
//
// The value of the key is the same for all, and DEL doesn't say who sends it.
// The timeline is that of [wukong]:
//
//	 0 s  A gets the lock, with a lease of 10 s.
//	10 s  The lease ends. A is still at work. B gets the lock.
//	15 s  A is done and deletes the key, which is B's.
//	15 s  C gets the lock, while B is at work.
//
// That is overrun_release. The same flaw has other forms:
//
//   - slow_release: A's DEL is sent at 9.5 s and arrives at 12 s.
//   - lost_release_reply: A's DEL is executed, its reply lost. A sends
//     another one, and B has the lock by then.
//   - unlock_not_held: B unlocks and never had the lock.
//   - late_own_release: A's DEL arrives so late that it frees A's own next
//     lock.
//
// And no token can fix the rest. From 10 s to 15 s both A and B are at work:
// overrun_overlap. In oversell that loses updates: A reads the stock and thinks
// for longer than its lease, others sell meanwhile, and A writes back what it
// has read less one, as if they had sold nothing. In late_grant the reply
// reaches A at 12 s, and A believes that it has a lock whose lease has ended on
// the way.
//
// # See it fail
//
//	go test ./gold -red=overrun_release
package gold
