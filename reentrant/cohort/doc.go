// Package cohort is a lock that its holder hands over to another goroutine of
// its process without asking the server.
//
// When a thousand goroutines of one process wait for a lock in Redis, a
// release travels to the server and the grant comes back, although both
// goroutines are in the same process. If the work is one read and one write,
// that is one of three round trips. Dice, Marathe and Shavit solve the same
// problem for the processors of one machine in "Lock Cohorting: A General
// Technique for Designing NUMA Locks": a global lock, with a local queue in
// front of it.
//
// # What changed
//
// All owners of a process that use the same rdb value, key and lease time are
// a cohort. They wait in a local queue, in the order of their arrival. One of
// them has the local lock, and only that one may ask the server, hold the lock
// and release it. Unlock gives the local lock to the next owner. The lock at
// the server goes with it while two conditions hold for the lease:
//
//   - it was passed on fewer than 16 times,
//   - less than a third of it has gone by since it was asked for.
//
// So an owner that gets the lease starts with at least two thirds of it, even
// if no renewal gets through. A watchdog guarantees no more than that either.
// An owner with lock.FixedLease was promised a whole lease, so its lease is
// never shared.
//
// When the lease can't be passed on, the next owner sends one script, which
// frees the lock and takes it again unless another process waits. If the reply
// is lost, the owner asks again, which changes nothing.
//
// Processes wait for each other with the queue and the turns of fair. A cohort
// has one place in that queue, under the owner id with which it will ask. For
// each cohort ahead of it, it waits for at most 17 critical sections, or for a
// third of a lease and one section, whichever is shorter. In addition there is
// its own round trip to the server.
//
// The owner id stands for the cohort's lease, and each lease has a fresh one.
// If an acquisition isn't answered, the next owner that waits in the process
// finds the grant. If nobody waits, only the same owner can find it, and all
// others wait until that lease has ended. The watchdog belongs to the lease
// and not to the holder. When the lease is gone, because the server says so or
// by the local clock, the holder's Lost is closed and the next owner gets the
// local lock. It asks under a new id and waits like all others.
//
// A release is sent once: if its reply is lost, Unlock returns the network
// error. If the driver repeated it, the server would answer that there was
// nothing to release.
//
// NewFenced makes owners with a fencing token. The acquire script reserves one
// token for each owner that the lease may serve. So each holder has a higher
// token than the one before, and after a loss the next process gets a token
// that is higher than all of them.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +time +del +get +set +pttl +pexpire \
//		+hexists +hget +hset +hdel +zadd +zrem +zrange +zrevrange +zpopmin \
//		+incrby +decrby ~stock ~{stock}:* &{stock}:turn
//
// Without the channel no process is told of its turn. As in fair, a Lock that
// has waited for more than two leases returns the server's error.
//
// Whoever may write the keys can take the lock from its holder, or set the
// tokens back, so all of its users must be trusted. A name with one of *?[]\
// needs a backslash before that character in the line.
//
// # What still breaks
//
//   - paused_holder: A's process stops from 1 s to 31 s. Its lease ends, B
//     locks and writes. A wakes and writes. NewFenced fixes this where the
//     storage checks tokens.
//   - failover, node_restart, clock_jump: one server holds the only key.
//   - Eviction lets B in beside A, as in watchdog: use maxmemory-policy
//     noeviction, or a server without a cache.
//   - hung_worker: the watchdog's price, and its whole process waits behind it.
//   - An acquisition that was not answered may arrive late, and a shared handle
//     lets two jobs in, as in reentrant. Work that uses up the pool loses the
//     lease, as in watchdog. Hooks that rename keys: as in fair.
//
// The server isn't asked when the lock is passed on, which has consequences:
//
//   - The server knows which process has the lock, but not which owner. It may
//     have lost the lock since the process last asked. An owner that got the
//     lock from another owner believes that it holds it until a renewal fails,
//     at most a third of a lease later. With reentrant, each new holder has
//     asked the server.
//   - So Unlock returns nil when it has passed the lock on, even if the server
//     has lost it.
//   - TryLock is refused while another owner of the process holds the lock or
//     waits for it.
//   - The last owner of a queue that gives up sends one more command, which
//     takes it out of the server's queue, as in fair. The flaw of fair in a
//     Redis Cluster applies here too.
//   - A command in flight doesn't end when its context is canceled, but only at
//     its deadline, or when the driver's ReadTimeout is over. Unlock also waits
//     for a renewal that is in flight, for a third of a lease.
//   - On Linux, Go's clock stops while the machine is suspended, so Lost may
//     still be open when it wakes up. Only fencing helps there.
//
// # See it fail
//
//	go test ./reentrant/cohort -red=node_restart
package cohort
