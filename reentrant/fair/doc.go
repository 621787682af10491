// Package fair is a lock whose waiters are served in the order of their
// arrival, in whatever process they wait.
//
// A thousand waiters that notify wakes one by one are all served in the end,
// and nothing says when: a newcomer may be faster than a waiter that was woken.
// Here the server keeps a queue, as Redisson's fair lock does.
//
// # What changed
//
// The acquire script puts an owner that is refused at the end of a queue at the
// server. The release script takes the first one out of it: that waiter has the
// turn, and it alone is told so, by a message that has its owner id. Until it
// has asked, everybody else is refused, TryLock as well. An owner that is
// inside always enters once more, whoever waits.
//
// This is crash-safe, because nothing in it is a proof:
//
//   - A turn is not a grant. The waiter must come and ask, and then its lease
//     begins. The turn is kept for a twentieth of a lease. A waiter that is far
//     from the server says with its place that it needs longer: five of its
//     newest round trips, and a third of a lease at most.
//   - When the next waiter is in the same process as the holder, the release
//     script hands the lock over to it. The waiter hears of that when the reply
//     comes, and its lease counts from before the release was sent. If the
//     reply is lost, the waiter asks, and finds that it already holds the lock.
//     If the process dies, it dies as a holder.
//   - A waiter that has died costs the others one turn. The process that has
//     passed the turn on asks when it is over, if it has a waiter of its own,
//     and the message goes to nobody else. If it has none, all processes hear
//     whose turn it is, and the first waiter of each asks.
//   - Each waiter asks once a lease. One that has not asked for two leases, by
//     the server's clock, gets no turn: a process that dies with a thousand
//     waiters costs two leases and a turn, not a thousand turns. The deadline
//     is its own. Chained to the deadlines of those before it, as Redisson has
//     it, it would drift away from the clock.
//   - A message that is lost costs at most the rest of a lease, as in notify.
//   - A waiter that gives up leaves the queue, and passes its turn on.
//
// Two things keep the price down: the hand-over inside a process, and that not
// everybody asks. Of the owners in a process that want the lock, that is one
// rdb value and one key, the first asks, and those that come until it is
// answered are asked for together. If its question hangs, the next one asks for
// them after a twentieth of a lease.
//
// A user of the server needs these rights for a lock named stock, besides those
// of its driver (HELLO, CLIENT, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +time +del +exists +get +set +pttl \
//		+pexpire +hexists +hkeys +hget +hset +hdel +zadd +zrem +zrevrange \
//		+zpopmin ~stock ~{stock}:* &{stock}:turn*
//
// Without the channel the lock works. A waiter of another process then has its
// turn when it asks at the end of a lease.
//
// # What still breaks
//
// Waiting has changed, holding has not. All flaws are those of reentrant:
//
//   - failover, node_restart, clock_jump: one server holds the only key. It
//     holds the only queue, too: waiters ask within a lease, and queue up
//     again.
//   - paused_holder: A wakes after its lease and writes.
//   - hung_worker: A hangs, its watchdog renews, and the queue stands still.
//
// The order has limits:
//
//   - If a waiter dies that has the turn, and the one process that looks after
//     it dies as well, or can't reach the server, the others wait until they
//     ask again, for a lease at most.
//   - A waiter that does not come for its turn has lost its place. It gets
//     another one, at the end, when it asks again.
//   - A server's clock that is set ahead by two leases calls all waiters dead.
//     They get new places within a lease.
//   - A waiter that gives up while another one asks for it may leave its place
//     behind, which costs the others one turn.
//   - Lock outlasts its context by the command that leaves the queue, which is
//     given up after a twentieth of a lease.
//   - In a Redis Cluster whose slot is being moved, a script of which some keys
//     are missing is answered TRYAGAIN: the lock can neither be had nor
//     released until the move has finished.
//
// # See it fail
//
//	go test ./reentrant/fair -red -run /paused_holder
package fair
