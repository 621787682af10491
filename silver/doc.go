// Package silver is a lock with a lease that comes one command too late.
//
// This is the second step of the article [wukong]. [survey] begins with it, and
// it is the first version of the lock in [interview] (docs/sources.md).
//
// # What changed
//
// A second command follows SETNX: PEXPIRE gives the key a time to live, the
// lease: 10 s in [wukong]. A holder that crashes no longer blocks the others
// forever, because the server deletes the key when the lease has ended.
//
// The articles use EXPIRE, which counts whole seconds: the client library
// would make 1 s of 300 ms and of 1500 ms. PEXPIRE counts milliseconds.
//
// When the key is gone before the PEXPIRE arrives, TryLock says that it was
// refused: another client has deleted the key, so there is no lock to hold.
//
// # What still breaks
//
// Taking the lock and giving it a lease are two commands, and much can happen
// between them.
//
//   - crash_after_first_command: SETNX is executed, and A crashes. The key
//     has no lease, as in bronze.
//   - abandoned_acquire: A gives up while its SETNX is on the way. SETNX is
//     executed afterwards, and PEXPIRE is never sent.
//
// A lease brings problems that bronze did not have:
//
//   - overrun_overlap: A works for 15 s on a lease of 10 s. At 10 s B has the
//     lock as well.
//   - overrun_release: at 15 s A deletes the key, which is B's by now.
//   - paused_holder: A's process stops, wakes after its lease and writes.
//   - clock_jump: the server's clock goes one lease ahead, and the lock is
//     gone.
//   - Eviction: a server whose memory is full may remove a key that has a TTL.
//     Use maxmemory-policy noeviction, or a server without a cache.
//
// Every rung from here on has at least one of these. A lease always trades
// "locked forever" for "unlocked too early". [survey] says that one Redis
// server makes the exclusion strict; with any lease it doesn't.
//
// # See it fail
//
//	go test ./silver -red=crash_after_first_command
package silver
