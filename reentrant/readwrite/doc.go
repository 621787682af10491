// Package readwrite is a lock that many readers or one writer hold.
//
// Redisson's RReadWriteLock is the best known one on Redis. Until version 4.4
// the renewal of one reader extended the leases of all, so that a reader that
// had crashed kept writers out for as long as another one lived
// (redisson#1458, open from 2018 until PR #7098), and a reader with a short
// lease cut the others' (redisson#2144). symfony/lock's RedisStore, from which
// the layout here is taken, keeps a lease for each reader in a sorted set.
//
// # What changed
//
// RLock, TryRLock and RUnlock stand beside the write lock's methods, which are
// the parent's. The write lock is the parent's key. The readers are members of
// a sorted set beside it, and the score of each is the moment when its own
// lease ends, by the server's clock: every script asks TIME, and removes the
// members whose leases are over before it looks who is inside. Clients' clocks
// decide nothing. A reader's watchdog moves its own score and nobody else's.
//
//	 0 s  A and B read. B's process dies.
//	 9 s  A has renewed its lease three times. B's score still says 10 s.
//	10 s  B's lease is over. A reads on.
//	15 s  A unlocks, and a writer gets in at once.
//
// A writer that waits is a member of a second sorted set, and while that set
// has a member, new readers are refused. Without it, readers that overlap
// would keep writers out forever. The writer asks at least every third of its
// lease, which refreshes its membership. So a writer that dies while it waits
// holds readers back for a lease at most, and one whose context ends removes
// itself.
//
// Readers don't starve either. A reader that is refused because a writer is
// inside leaves a mark as well, and no other writer gets in before that reader.
// One that is refused because a writer waits lets one in first. Without the
// mark, a reader that is farther away than the writers would always come too
// late. The mark of a reader that dies lasts for a lease at most. Nobody is
// served in order, though: as in notify, a writer that unlocks and asks again
// at once may come before other writers that wait.
//
// Both kinds of waiters are woken by messages, as in notify: one writer and one
// reader of each process. A reader that is woken and gets in wakes the other
// readers of its process, because nothing keeps them out.
//
// Both sides are re-entrant, also for a reader behind a waiting writer. The
// writer may read too: after Unlock it remains as a reader, in one step, and
// no other writer comes in between (a downgrade). A reader that asks for the
// write lock gets lock.ErrUpgrade at once: it would wait for itself, and two
// such readers for each other. The writer's grants are numbered as in fenced;
// a reader has no token. The counter has no lease either. That costs one small
// key for each name that was ever write-locked, also where nobody uses the
// tokens: the lock can't know that. An expiry would be no remedy, because the
// next token would be 1 again, and lower than that of a writer that was paused.
//
// An owner id is used in one role only. An owner that was refused or not
// answered as a reader, and then asks to write, releases its old id and takes a
// new one, and so does a writer that asks to read. Otherwise a late request of
// the first kind could end the lock that was granted for the second.
//
// The owner is the Lock value and not the goroutine: a second Lock value in
// the same goroutine is another owner, and waits for the first.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING):
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+subscribe +unsubscribe +publish +del +exists +hexists +hset +hdel \
//		+pexpire +pttl +get +incr +time +zadd +zrem +zscore +zcount \
//		+zrange +zremrangebyscore ~stock ~{stock}:* &{stock}:released
//
// A server that refuses TIME in a script, such as ElastiCache Serverless,
// can't hold this lock: every call returns its error.
//
// Whoever may write the keys can take the lock from its holder, set the tokens
// back or keep readers out, so all of its users must be trusted. A name with
// one of *?[]\ needs a backslash before that character in the line.
//
// # What still breaks
//
// Holding is the parent's, on both sides. A lost message costs at most a third
// of a lease.
//
//   - failover, reader_failover: the promoted replica doesn't know of the lock,
//     or of the readers. A reader is told when its next renewal finds nothing.
//   - node_restart, clock_jump: one server holds everything.
//   - Eviction lets a writer in beside the readers, or the readers in beside a
//     writer, until they are told, as in watchdog: use maxmemory-policy
//     noeviction, or a server that holds no cache.
//   - tokens_rise: as in fenced, when the server has lost the counter.
//   - hung_worker: A hangs, its watchdog renews. A reader that hangs keeps all
//     writers out.
//   - An acquisition that was not answered may arrive late, and a shared handle
//     lets two jobs in, as in reentrant. Work that uses up the pool loses the
//     lease, as in watchdog.
//   - A writer whose Lock returns an error of the network may hold readers back
//     for up to a lease, and a reader whose RLock does may hold writers back.
//   - A paused reader reads on after its lease while a writer writes, until it
//     looks at Lost. It may have read half a change by then; only a storage
//     that keeps versions helps.
//
// In a Redis Cluster whose slot is being moved, a script with several keys of
// which one is missing is answered TRYAGAIN. Most of these keys are missing
// most of the time, so the lock can neither be had nor released until the
// move has finished; every call returns the error, and Unlock and RUnlock may
// be called again.
//
// # See it fail
//
//	go test ./reentrant/readwrite -red=reader_failover
package readwrite
