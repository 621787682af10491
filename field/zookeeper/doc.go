// Package zookeeper has the locks that one builds on ZooKeeper. The survey of
// distributed locks [survey] describes two and prints a recipe; ZooKeeper's
// own page of recipes has the second.
//
//   - Basic: one ephemeral node is the lock, and everybody who waits watches it.
//     A release wakes them all, and one of them gets it.
//   - Sequential: everybody has an ephemeral node with a number, the smallest has
//     the lock, and each watches the one before it. A release wakes one, in the
//     order of arrival.
//   - Recipe: the code that the survey prints. It waits once for the node before
//     it, does not look at how the wait ended, and never looks again whether its
//     own node is the smallest. It is an exhibit.
//
// A lock lasts as long as its session, which the client keeps alive; there is no
// lease to outlive by working. A session that was reported lost is not resumed,
// even when the servers still know it: its locks become free within one session
// timeout. The servers agree on every write, so a lock that one has granted is
// known to the one that follows it.
package zookeeper
