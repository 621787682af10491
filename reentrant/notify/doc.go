// Package notify is a lock whose waiters sleep until a message says that the
// lock was released.
//
// Redisson waits like this. The articles poll, every 100 ms in
// [wukong], every 800 ms in [queue] (docs/sources.md).
//
// # What changed
//
// The release script publishes a message to a channel beside the lock, in the
// same step as the DEL. Waiters listen, so they don't have to ask again and
// again. The acquire script returns what is left of the holder's lease, and a
// waiter sleeps for at most that time.
//
// A client that finds the lock free never subscribes. One that is refused joins
// a subscription. There is one for each rdb value, however many handles and
// keys wait on it. A message goes to every process that waits, and each process
// wakes one waiter, in turn, so a thousand waiters in one process don't all ask
// at once. lock.PollEvery has no effect here.
//
// The subscription belongs to a goroutine of its own, which closes it some
// seconds after the last waiter has left. The waiters don't wait for that
// goroutine: go-redis can't close a subscription while it dials, and Lock has
// to return when its context ends. So the goroutine may outlive its last waiter
// until the driver's dial has timed out. New refuses a client that can't
// subscribe like that, such as a *redis.Ring.
//
// Redis delivers a message at most once and stores none. So a message is a hint
// and never a proof:
//
//   - A release between the refusal and the subscription isn't heard. So one
//     waiter asks once more when the server has confirmed the subscription. If
//     it is refused, a client holds the lock, and its release will be heard.
//   - A lost message costs at most the rest of a lease: the waiter asks when
//     the holder's lease should have ended. If it was renewed, the waiter
//     sleeps again.
//   - The client library replaces a lost connection. The confirmation that
//     follows wakes a waiter, because a message may have been missed in the
//     meantime.
//   - The lock repeats a SUBSCRIBE that fails, every 100 ms. The library
//     reconnects only with the channels that it had before, so this channel
//     would be missing for as long as the new connection lives.
//   - A waiter that was woken and gives up wakes the next one.
//
// A woken waiter is not a holder. It asks, and another client may be faster:
// this lock is not fair.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +del +exists +hexists +hset \
//		+pexpire +pttl ~stock &{stock}:released
//
// The channel of a lock that has a hash tag, such as {shop}:stock, is
// {shop}:stock::released. Without the right to it, waiters sleep until a lease
// ends, and Unlock frees the lock and returns the server's error.
//
// Whoever may write the key can take the lock from its holder, so all of its
// users must be trusted. A name with one of *?[]\ needs a backslash before that
// character in the line.
//
// # What still breaks
//
// Waiting has changed, holding has not. All flaws are those of reentrant:
//
//   - failover: the master dies before it has replicated the lock. The
//     waiters subscribe to its successor, which knows of no lock, and one
//     gets it.
//   - node_restart, clock_jump: one server holds the only key.
//   - Eviction lets B in beside A, as in watchdog: use maxmemory-policy
//     noeviction, or a server without a cache.
//   - paused_holder: A wakes after its lease and writes.
//   - hung_worker: A hangs, its watchdog renews, and the waiters sleep well.
//   - A waiter sees at once that its context has ended. A command in flight
//     may not, and one that was not answered may arrive late, as in reentrant.
//   - A holder whose work uses up the client's pool loses its lease, as in
//     watchdog. A shared handle lets two jobs in, as in reentrant.
//   - A client's hook that renames keys doesn't rename the channel.
//
// # See it fail
//
//	go test ./reentrant/notify -red=failover
package notify
