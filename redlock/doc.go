// Package redlock is a lock on a majority of independent servers.
//
// The Redis page on distributed locks describes it; so do [survey] and
// [interview], with five masters that know nothing of each other
// (docs/sources.md).
//
// # What changed
//
// The rungs before this one lose their lock with one server. Here TryLock
// sends diamond's SET to each of N nodes, with one token, and the lock is
// held when more than half have granted it. While no node forgets, two clients
// can't have a majority each, and two of five nodes may be down.
//
// One node may be slow. A command waits for it no longer than the node
// timeout, a twentieth of the lease unless lock.NodeTimeout says otherwise.
// The Redis page has 5 to 50 ms for a lease of 10 s; [survey] allows 1 s of
// 5 s. A client should bound its reads as well (ContextTimeoutEnabled): a
// command that is left behind keeps its node busy until it returns. In order,
// every node that is down may cost its timeout at each attempt.
//
// New refuses two clients that dial the same address. Two addresses of one
// server aren't noticed: it votes once, so fewer failures are survived, and
// with too few servers nothing is ever granted.
//
// Asking takes time, and the first node's lease runs meanwhile. The rest of
// the lease is the validity: ttl - elapsed - drift. The drift is 1 % of the
// ttl and 2 ms more, for clocks that run at different speeds. A majority
// without validity is no lock. New refuses a ttl of 2 ms or less, because its
// drift leaves nothing.
//
// After a failure all nodes are told to release, also those that refused or
// did not answer: their reply may be what was lost. That has a context of its
// own. Unlock uses the caller's.
//
// The nodes are asked in order, and a client stops as soon as a majority is
// out of reach. Clients that ask all at once split the nodes among
// themselves, and no client has three of five. lock.Parallel asks at once all
// the same, which is fast where few compete, and widens the random back-off ten
// times.
//
// Any number of nodes works. One node is diamond with a validity check. An
// even number gains nothing: four nodes need three and survive the loss of
// one, as three nodes do.
//
// A user of each node needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING). A name with one of *?[]\ needs a
// backslash before that character here:
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+set +get +del ~stock
//
// Whoever may write the key on a majority can take the lock from its holder, so
// all of its users must be trusted.
//
// # What still breaks
//
//   - node_restart: A holds three of five nodes. One of them restarts empty,
//     and B has a majority: that one and the other two. The Redis page asks
//     that a restart waits a little longer than one lease. Nothing here can
//     enforce that.
//   - clock_jump: the same, when one node's clock goes ahead.
//   - Eviction is the same as well: use maxmemory-policy noeviction on every
//     node, or nodes without a cache.
//   - overrun_overlap, oversell: the lease isn't renewed, and the holder isn't
//     told how much of the validity is left. Nor is it told where its work has
//     used up a client's pool and Unlock comes too late.
//   - paused_holder: a majority stops no late writer. There is no fencing
//     token; independent nodes have no common counter.
//   - a client that its own leftovers refuse: a majority granted too late, and
//     the release did not reach the nodes. This client's next attempt finds its
//     own keys there, and is refused until their lease ends
//     (docs/explorer.md).
//   - cancelled_context, lost_lease_told, partitioned_holder, nested: as in
//     diamond, which this rung branches from.
//
// # See it fail
//
//	go test ./redlock -red=node_restart
package redlock
