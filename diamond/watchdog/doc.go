// Package watchdog is a lock that renews its own lease, knows its own deadline,
// and can be released after the caller's context has ended.
//
// Redisson made this known; [survey] and [interview] describe its watchdog,
// which looks every 10 s (docs/sources.md). The lease that it renews is 30 s by
// default.
//
// # What changed
//
// When a third of the lease has passed, a goroutine begins. Every third it runs
// a script that extends the lease if the token is still its own. The script
// never creates the key: a renewal that did so would take a lock that may be
// another client's by then. With a lease of 10 s the work of 15 s is no overrun
// any more.
//
// The lock has a deadline of its own: the lease, counted from before the
// command was sent, by the client's monotonic clock. The server started
// later, so the lease lasts at least that long. A renewal that was answered
// moves the deadline. A renewal that failed does not, so the next one must
// come in time: after a failure it is sent a tenth of the lease later. A
// renewal that hangs is given up after a third of the lease. Sent at one
// third and given up at two, it leaves room for one more at 77 %, whose
// answer may take a tenth of the lease. Two that hang in a row lose the
// lease.
//
// Lost returns a channel. It is closed when the server says that the key is
// gone, or when the deadline has passed, for example behind a broken network.
// Work that takes long should look at it. Each grant has a channel of its
// own, nil means that there was none, and Unlock does not close it.
//
// Lost also looks at the clock when it is called, and closes the channel
// first if the lease is over. A process that has just woken up may run before
// its own timers do, and a channel that it took earlier is then still open.
// So call Lost again before each write. Only a fencing token catches a loss
// between that look and the write.
//
// A grant whose reply comes after the deadline is refused and released: A
// must not believe in it, and B must not wait for its end. The watchdog of a
// grant before is joined before the clock is read, because joining takes time
// as well.
//
// Renewals and release run on contexts of their own, bounded by one lease. A
// canceled request neither stops the renewal under work that goes on, nor
// keeps a deferred Unlock from being sent.
//
// Unlock stops the goroutine, if it has begun, and waits for it before it
// sends the release. A renewal that came after it would be noise at best. That
// wait takes a third of the lease at most: lock.Bounded ends a renewal that
// hangs, even where go-redis would wait until its ReadTimeout, 5 s. It may
// take one ReadTimeout more where that is shorter than a third of the lease,
// because the driver then repeats the renewal; with ContextTimeoutEnabled it
// doesn't, and only with that are the clients of a Cluster or a Ring bounded.
// The caller's own deadlines are left to the driver. With its defaults a
// command in flight does not see them, and Lock may return so much later; with
// ContextTimeoutEnabled it does. A context that is canceled and has no
// deadline is not seen by a command in flight with either setting.
//
// lock.FixedLease turns the renewal off, as an explicit lease does in
// Redisson. The deadline and Lost stay.
//
// # What still breaks
//
//   - hung_worker: A's work hangs forever, its process lives, and the
//     watchdog renews. B waits forever. This is what a watchdog costs: the
//     same as bronze.
//   - paused_holder: A's whole process stops, the watchdog with it. The lease
//     ends, B writes, A wakes and writes as well, before it looks at Lost.
//   - nested: a function that locks again waits for its caller, and as long
//     as that is renewed it waits forever.
//   - lost_reply: A holds the lock and does not know it. It waits for itself.
//     go-redis repeats a command three times by default, and then this is
//     silent: the SET finds what it has set itself, and TryLock returns
//     (false, nil) for A's own grant. A release that is repeated finds
//     nothing, and the first Unlock says lock.ErrNotHeld though it has
//     released the lock.
//   - failover, node_restart, clock_jump: the server forgets the key. The
//     next renewal finds that out, and Lost is closed, too late. It doesn't
//     when a first SET of the same acquisition, which the driver has repeated,
//     arrives before that renewal and takes the free key once more.
//   - Eviction: a server whose memory is full may remove the key, which has a
//     TTL. B gets in, and A is told at its next renewal. Use maxmemory-policy
//     noeviction, or a server without a cache: a full server then refuses new
//     locks with an error, and renews and releases old ones.
//   - A Linux machine that is suspended stops Go's monotonic clock, and so the
//     deadline. After it wakes up, Lost is closed as much later as it slept,
//     or when the next renewal has found the key gone.
//
// # See it fail
//
//	go test ./diamond/watchdog -red=hung_worker
package watchdog
