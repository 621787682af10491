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
//     from the server asks for longer when it queues up: five of its newest
//     round trips, but at most a third of a lease.
//   - When the next waiter is in the same process as the holder, the release
//     script hands the lock over to it. The reply to the release tells the
//     process so, and the waiter's lease counts from before the release was
//     sent. If the reply is lost, the waiter asks, and finds that it already
//     holds the lock. If the process dies, it dies as a holder.
//   - A waiter that has died costs the others one turn. If the process that
//     passes the turn on has a waiter of its own, the message goes only to the
//     process that has the turn, and that waiter asks when the turn is over. If
//     it has none, all processes hear whose turn it is, and the first waiter of
//     each asks.
//   - Each waiter asks at least once a lease. One that hasn't asked for two
//     leases, by the server's clock, gets no turn. So a process that dies with
//     a thousand waiters costs two leases and a turn, and not a thousand turns.
//     Each waiter has a deadline of its own. Redisson computes it from the
//     deadline of the waiter before, so it drifts away from the clock.
//   - A message that is lost costs at most the rest of a lease, as in notify.
//   - A waiter that gives up leaves the queue, and passes its turn on. Those of
//     a process that give up together leave with one command for all. A process
//     that is told the turn of an owner that it doesn't have gives it back with
//     its next question.
//
// The hand-over inside a process saves commands, and so does asking together:
// of the owners in a process that want the lock, with the same rdb value and
// key, the first asks alone. The next question is for all that have come until
// that one was answered. If it hangs, the next owner asks for them after a
// twentieth of a lease. No command names more than a thousand owners or removes
// many more dead ones, so that no script keeps the server. If the queue begins
// with more dead ones, those that wait ask again at once.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +time +del +exists +get +set +pttl \
//		+pexpire +hexists +hkeys +hmget +hset +hdel +zadd +zrem +zrange \
//		+zrevrange +zremrangebyrank ~stock ~{stock}:* &{stock}:turn*
//
// Without the channels no process is told of its turn. A turn that goes to
// another process passes unused, and its waiter is put at the end of the queue
// when it asks again. While the waiters of one process hand the lock over to
// each other, another process might wait forever. So a Lock that has waited
// for more than two leases returns the server's error.
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
//   - A client's hook that renames keys doesn't rename the channels that the
//     scripts make of them: no process hears of its turn.
//
// The order has limits:
//
//   - If the waiter that has the turn dies, and the one process that asks when
//     the turn is over dies too or can't reach the server, the others wait
//     until they ask again, for a lease at most.
//   - A waiter that doesn't come for its turn has lost its place. It gets
//     another one, at the end of the queue, when it asks again.
//   - If the server's clock is set ahead by two leases, all waiters count as
//     dead. They get new places within a lease.
//   - A waiter that gives up while another one asks for it may leave its place
//     behind, which costs the others one turn.
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
