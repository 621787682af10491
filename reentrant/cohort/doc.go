// Package cohort is a lock that its holder hands over inside the process,
// without asking the server.
//
// With a thousand waiters in one process, a lock in Redis goes up to the server
// and comes down again to the goroutine next door. One round trip out of three
// says nothing that the process does not know. Dice, Marathe and Shavit do this
// to processors in "Lock Cohorting: A General Technique for Designing NUMA
// Locks": a global lock, and a local queue in front of it.
//
// # What changed
//
// The owners of one process that use a lock, that is one rdb value and one
// key, are a cohort. They stand in a local queue, first come first served, and
// one of them has the local lock: it may ask the server, hold the lock and
// release it. Unlock gives the local lock to the next one, and the server's
// along with it as long as two things are true of the lease:
//
//   - it was passed on fewer than 16 times,
//   - less than a third of it has gone since it was asked for.
//
// So an owner that is let in has two thirds of a lease before it, even when no
// renewal comes through. That is what it has with a watchdog anyhow. One that
// wants lock.FixedLease is promised a whole lease: its lease is never shared.
//
// When the lease may not be passed on, the next owner asks: "free it, and give
// it to me again, unless somebody else waits". One script does both. Its reply
// may be lost, and to ask again changes nothing.
//
// Between the processes there are the queue and the turns of fair. What waits
// there is a cohort, by the owner id that it asks with next. It waits, for each
// one before it in the queue, for 17 sections or for a third of a lease and one
// section, whichever is shorter, and for its own way to the server.
//
// The owner id stands for the cohort's lease, and is fresh for each one. An
// acquisition that was not answered is left to the owner of this process that
// asks next: it finds the grant. A watchdog renews the lease, not the holder.
// When the lease is gone, by the server's word or by the local clock, Lost of
// the holder is closed, and the local lock goes to the next owner. It asks,
// under a new id, and waits like everybody else.
//
// A release is sent once: when its reply is lost, Unlock returns the error of
// the network. Were the driver to repeat it, the server would answer that there
// was nothing to release.
//
// NewFenced makes owners with a fencing token. The acquire script reserves one
// for each owner that may get the lease. So each holder has a higher one than
// the one before, and what another process gets after a loss is higher than
// all.
//
// A user of the server needs these rights for a lock named stock, besides those
// of its driver (HELLO, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +time +del +exists +get +set +pttl \
//		+pexpire +hexists +hkeys +hget +hset +hdel +zadd +zrem +zrevrange \
//		+zpopmin +incrby +decrby ~stock ~{stock}:* &{stock}:turn*
//
// Without the channel the lock works, and its waiters wait until a lease ends.
//
// # What still breaks
//
//   - paused_holder: A's process stops from 1 s to 31 s. Its lease ends, B
//     locks and writes. A wakes and writes. NewFenced fixes this where the
//     storage checks tokens.
//   - failover, node_restart, clock_jump: one server holds the only key.
//   - hung_worker: the watchdog's price, and its whole process waits behind it.
//
// What the server does not see, it cannot vouch for:
//
//   - It knows which process has the lock, and not which owner. Between two
//     questions it may have lost the lock: who was let in by its neighbor
//     believes in it until a renewal tells, a third of a lease later at most.
//     With reentrant a new holder has always asked.
//   - So Unlock returns nil when it has passed the lock on, be it lost or not.
//   - TryLock is refused when another owner of the process is before it, even
//     if that one is still waiting.
//   - The last owner of a queue leaves it with one more command, as a waiter
//     of fair does. What fair says of a Redis Cluster is true here, too.
//   - A command that is under way does not end when its context is canceled,
//     only when its deadline has come, or the driver's ReadTimeout is over. An
//     Unlock waits for a renewal that is under way, too, for a third of a lease
//     at most.
//   - A machine that is suspended stops Go's clock on Linux: Lost may be open
//     when it wakes. Only fencing helps there.
//
// # See it fail
//
//	go test ./reentrant/cohort -red -run /node_restart
package cohort
