// Package fair is a lock whose waiters are served in the order of their
// arrival, in whatever process they wait.
//
// With notify, nobody can say when one of a thousand waiters gets the lock: a
// newcomer may be faster than the waiter that was woken. Here the server keeps
// a queue, as it does for Redisson's fair lock.
//
// # What changed
//
// The acquire script puts an owner that is refused at the end of a queue at
// the server. The release script takes the first one out of the queue and
// gives it the turn, with a message that names its owner id. Until that waiter
// has asked, or its turn is over, all others are refused, also those that only
// call TryLock. An owner that holds the lock can always enter once more.
//
// A crash can't stop the queue, because neither a place nor a turn proves that
// a waiter is alive:
//
//   - A turn isn't a grant. The waiter must come and ask, and then its lease
//     begins. A turn lasts for a twentieth of a lease. A waiter that is far
//     from the server asks for longer when it queues up: five round trips, but
//     at most a third of a lease.
//   - All processes hear whose turn it is and for how long. Only that waiter
//     asks. If it has died, it costs the others its turn: then the first waiter
//     of each process asks.
//   - Each waiter asks at least once a lease. One that hasn't asked for two
//     leases, by the server's clock, gets no turn. So a process that dies with
//     a thousand waiters costs two leases and a turn, and not a thousand turns.
//     Each waiter has a deadline of its own. Redisson computes it from the
//     deadline of the waiter before, so it drifts away from the clock.
//   - A message that is lost costs at most the rest of a lease, as in notify.
//   - A waiter that gives up leaves the queue, and passes its turn on. Those of
//     a process that give up together leave with one command for all.
//
// No command names more than a thousand owners or removes more dead ones, so
// that no script keeps the server. If the queue begins with more dead ones, one
// of each thousand has a turn.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +time +del +get +set +pttl +pexpire \
//		+hexists +hget +hset +hdel +zadd +zrem +zrange +zrevrange +zpopmin \
//		~stock ~{stock}:* &{stock}:turn
//
// Without the channel no process is told of its turn. It passes unused, and its
// waiter is put at the end of the queue when it asks again. While other
// processes are busy it might wait forever. So a Lock that has waited for more
// than two leases returns the server's error.
//
// Whoever may write the keys can take the lock from its holder, or empty the
// queue, so all of its users must be trusted. A name with one of *?[]\ needs a
// backslash before that character in the line.
//
// # What still breaks
//
// Waiting has changed, holding has not. All flaws are those of reentrant:
//
//   - failover, node_restart, clock_jump: one server holds the only key. It
//     holds the only queue, too: waiters ask within a lease, and queue up
//     again.
//   - Eviction lets B in beside A, as in watchdog, or costs the queue: use
//     maxmemory-policy noeviction, or a server without a cache.
//   - paused_holder: A wakes after its lease and writes.
//   - hung_worker: A hangs, its watchdog renews, and the queue stands still.
//   - An acquisition that was not answered may arrive late, and a shared handle
//     lets two jobs in, as in reentrant. Work that uses up the pool loses the
//     lease, as in watchdog.
//   - A client's hook that renames keys doesn't rename the channel to which the
//     scripts publish: no process hears of its turn.
//
// The order has limits:
//
//   - If the waiter that has the turn dies, and no other process has heard of
//     the turn, the others wait until they ask again, for a lease at most.
//   - A waiter that doesn't come for its turn has lost its place. It gets
//     another one, at the end of the queue, when it asks again.
//   - If the server's clock is set ahead by two leases, all waiters count as
//     dead. They get new places within a lease.
//   - A waiter whose last question was not answered, or whose command to leave
//     was not, may leave its place behind, which costs the others one turn.
//   - When its context ends, Lock still sends the command that leaves the
//     queue, and waits for a twentieth of a lease at most.
//   - While a Redis Cluster moves the lock's slot, a script of which some keys
//     are missing is answered TRYAGAIN. Then the lock can be neither taken nor
//     released until the move has finished.
//
// # See it fail
//
//	go test ./reentrant/fair -red=paused_holder
package fair
