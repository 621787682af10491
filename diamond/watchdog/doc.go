// Package watchdog is a lock that lives its own life: it renews its lease,
// knows its own deadline, and can be released after the caller's context has
// ended.
//
// Redisson made this known; seeds/001 and seeds/004 describe its watchdog,
// which looks every 10 s. The lease that it renews is 30 s by default.
//
// # What changed
//
// A grant starts a goroutine. Every third of the lease it runs a script that
// extends the lease if the token is still its own. The script never creates
// the key: a renewal that did so would take a lock that may be somebody
// else's by then. With a lease of 10 s the work of 15 s is no overrun any
// more.
//
// The lock has a deadline of its own: the lease, counted from before the
// command was sent, by the client's monotonic clock. The server started
// later, so the lease lasts at least that long. A renewal that was answered
// moves the deadline. A renewal that failed does not; the next one may still
// come in time.
//
// Lost returns a channel. It is closed when the server says that the key is
// gone, or when the deadline has passed, for example behind a broken network.
// Work that takes long should look at it. Each grant has a channel of its
// own, nil means that there was none, and Unlock does not close it.
//
// A grant whose reply comes after the deadline is refused and released: A
// must not believe in it, and B must not wait for its end.
//
// Renewals and release run on contexts of their own, bounded by one lease. A
// cancelled request neither stops the renewal under work that goes on, nor
// keeps a deferred Unlock from being sent.
//
// Unlock stops the goroutine and waits for it before it sends the release. A
// renewal that came after it would be noise at best. A client that honours
// deadlines (ContextTimeoutEnabled) bounds that wait by a third of the lease.
//
// lock.FixedLease turns the renewal off, as an explicit lease does in
// Redisson. The deadline and Lost stay.
//
// # What still breaks
//
//   - hung_worker: A's work hangs for ever, its process lives, and the
//     watchdog renews. B waits for ever. This is what a watchdog costs:
//     bronze is back.
//   - paused_holder: A's whole process stops, the watchdog with it. The lease
//     ends, B writes, A wakes and writes as well, before it looks at Lost.
//   - nested: a function that locks again waits for its caller, and as long
//     as that is renewed it waits for ever.
//   - lost_reply: A holds the lock and does not know it. It waits for itself.
//   - failover, node_restart, clock_jump: the server forgets the key. The
//     next renewal finds that out, and Lost is closed, too late.
//
// # See it fail
//
//	go test ./diamond/watchdog -red -run /hung_worker
package watchdog
