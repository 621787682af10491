// Package imports is a job that needs locks: tasks of one group strictly one after
// the other and in order, different groups side by side, workers in several
// processes ([queue]).
//
// A task is an import into one entity of one tenant, and that is its group. Tasks
// of tenants that have not switched grouping on have no group and take the plain
// queue. Producers push under the queue lock. A worker takes, from the tail, the
// oldest task whose group is free, and what it took stands in its own slot until
// it is done; a worker that is restarted with the same slot finds it there.
//
// # As the article has it
//
// The group is a lock, and so is the queue. A worker takes the queue lock, goes
// through the queue with LINDEX, tries the lock of each task's group, writes the
// task to its slot, removes it from the queue, and lets the queue go. After the
// work it clears the slot and releases the group. It has these flaws, which are
// shown and not fixed:
//
//   - A crash between the slot's write and LREM leaves the task in both places,
//     and it is done twice.
//   - A worker that is restarted waits for its own group's lock: its predecessor
//     died with it. Without a lease it waits forever, and with one somebody else
//     may come first, with the next task: out of order.
//   - An exception leaves the group locked. When it happens in the task that was
//     found in the slot, the worker goes on, and clears the slot at the first
//     locked group that it meets: that task is lost.
//
// # Improved
//
// The claim of a group is data: which slot, which process, which fencing token,
// and when its lease ends. One script moves a task from the queue to the slot and
// writes the claim. Another one records the end of the work, clears the slot and
// removes the claim, if the claim is still the caller's. While the work lasts the
// claim is renewed. A worker that finds a group whose claim has run out takes over
// the task in the old slot, before any other task of that group. A worker that
// finds nothing to do sleeps until a message says that there is something, or until
// the first lease of a claim ends.
//
// The scripts are safe without the queue lock. It keeps workers from choosing the
// same task, and gives the claim its fencing token: a worker that was stopped
// between choosing and taking comes back with an old one, and is refused.
//
// # How a run is judged
//
// Every begin and every end of a piece of work is appended to a log in Redis, by a
// script. Judge reads it afterwards; workers are not asked.
package imports
