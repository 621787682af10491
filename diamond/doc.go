// Package diamond is a lock that is released by comparing and deleting in one
// step, at the server.
//
// This is the fifth and last step of the article [wukong]. The Redis page of
// SET shows the same script (docs/sources.md).
//
// # What changed
//
// GET, the comparison and DEL move into a Lua script. Nothing comes between
// them, so platinum's slow_get can't happen: at 13 s the script finds B's
// token and deletes nothing. A's Unlock returns lock.ErrNotHeld.
//
// From here on no rung frees another client's lock. Releasing late, twice or
// without a lock does no harm.
//
// Newer servers have the comparison as a command: DELEX with IFEQ in Redis
// 8.4, DELIFEQ in Valkey 9. The script runs on all of them.
//
// # What still breaks
//
// Releasing is safe now. Holding is not: A doesn't learn that its lease is
// over.
//
//   - overrun_overlap: A works for 15 s on a lease of 10 s. From 10 s on B
//     holds the lock, too.
//   - oversell: the cost of that. A reads the stock, thinks for too long, and
//     writes over the purchases that others have made meanwhile.
//   - late_grant: the reply comes at 12 s. A begins to work with a lock that
//     ended at 10 s.
//   - partitioned_holder: A is cut off at 1 s and works on. It cannot know.
//   - lost_lease_told: an operator deletes the key. A is not told before it
//     unlocks.
//   - cancelled_context: Unlock uses the caller's context. When that has
//     ended, the lock stays until its lease has ended.
//   - nested, lost_reply: a holder that asks again is refused by itself.
//   - paused_holder, failover, node_restart, clock_jump: these lie below the
//     lock, in the client's process and in the server. So does eviction: a
//     server whose memory is full may remove the key, which has a TTL, and B
//     gets in. Use maxmemory-policy noeviction, or a server without a cache.
//
// [wukong] ends here and says: use Redisson. The next rungs build what
// that library has.
//
// # See it fail
//
//	go test ./diamond -red=overrun_overlap
package diamond
