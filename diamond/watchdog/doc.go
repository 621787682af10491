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
// wait takes a third of the lease at most. lock.Bounded ends each command with
// the deadline of its context, even where go-redis would wait until its
// ReadTimeout, 5 s, and whatever client it is: one of a Cluster or a Ring, or a
// type that embeds one. It sends by the client's own Process, so the client's
// hooks see each command. A context that is canceled and has no deadline is
// not seen by a command in flight.
//
// Renewals use the pool of the client that the lock was given. Work that takes
// all connections, such as one BLPOP for each, keeps them waiting until the
// lease ends; Lost says so. Give the lock a client of its own, or a pool that
// is larger than the work needs.
//
// lock.FixedLease turns the renewal off, as an explicit lease does in
// Redisson. The deadline and Lost stay.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING). A name with one of *?[]\ needs a
// backslash before that character here:
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+set +get +del +pexpire ~stock
//
// Whoever may write the key can take the lock from its holder, so all of its
// users must be trusted.
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
//     The SET is sent once, and TryLock returns the error of the network. The
//     driver would repeat it three times by default without a word, and the
//     second SET would be refused by the first. It does repeat a release whose
//     reply was lost. The second one finds nothing, and Unlock says
//     lock.ErrNotHeld though it has released the lock.
//   - A SET that was not answered may arrive much later, and then nobody holds
//     the lock until the lease ends. TryLock has returned an error.
//   - failover, node_restart, clock_jump: the server forgets the key. The
//     next renewal finds that out, and Lost is closed, too late.
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
