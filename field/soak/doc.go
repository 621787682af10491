// Soak runs a lock on real servers for minutes, disturbs it, and judges what happened.
//
//	go run ./soak -redis auto -rungs reentrant/cohort -for 4m -seed 7
//	go run ./soak -redis auto -rungs reentrant/notify -only late,blackhole
//	go run ./soak judge DIR
//
// It starts redis-server, worker processes that are this program once more, and a
// TCP proxy between each worker and each server. The goroutines of a worker acquire
// the lock at one of a few keys, read a storage, work, write to it, and release.
// Meanwhile faults come, drawn from a seed: workers are stopped or killed, servers
// sleep or restart, the network delays, swallows and cuts. Each process writes each
// event into a file, one write(2) each, so that kill -9 loses none.
//
// The judge reads those files and knows nothing else. These are its invariants:
//
//   - Two holders: the beliefs of two owners of one key never overlap. A belief
//     begins when Lock returns, and ends when Unlock is called, when Lost closes, or
//     with the process. For a lock without Lost, the worker counts the lease from
//     before the call.
//   - Lost update: the sections of a key could have taken place in the storage one
//     after the other. Porcupine, a linearizability checker, decides.
//   - Wrong token: a later grant has a higher fencing token.
//   - Hangs: every call returns within its deadline plus one second. With
//     go-redis's defaults a command in flight doesn't see the deadline, and it is
//     six seconds. The worker writes the stacks of calls that are overdue.
//   - Unavailable: after the faults each process gets each key within two leases
//     and two pauses between attempts.
//   - Left behind: goroutines of idle workers, subscriptions, connections,
//     processes, and keys without a TTL, but for the counters of fencing tokens.
//
// A process that is stopped inside its section doesn't know when its lease ends. So a stop
// explains two holders and a lost update, unless the lock has fencing tokens: then nothing
// explains a lost update. A stop that ended before the lock was granted explains nothing.
//
// Half of the workers use go-redis with ContextTimeoutEnabled, the others with its
// defaults. Faults that make a documented flaw arise, restart-empty and flushall, come
// only when -only names them.
//
// Beside the rungs there are locks that are wrong on purpose, such as
// wrong/lease_from_reply, which a soak has to catch.
//
// A violation prints the events around it, the page that documents it, the seed, and
// the directory of the run, which is kept. Ctrl-C ends the faults and judges what
// has happened until then.
//
// It exits with 0 when the lock held, 1 after a violation, 2 when the command was not
// understood, 3 when the soak itself failed or something could not be judged, and 130
// when the lock held until an interrupt.
package main
