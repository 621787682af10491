// Package imports is a job that needs locks: tasks of one group strictly one after
// the other and in order, different groups side by side, workers in several
// processes ([queue]). docs/import.md has what becomes of the tasks in both forms.
//
// A task is an import into one entity of one tenant, and that is its group. A worker
// takes, from the tail of the queue, the oldest task whose group is free, and what it
// took stands in its own slot until it is done; a worker that is restarted with the same
// slot finds it there.
//
// As the article has it, the group is a lock, and so is the queue. Its flaws are shown
// and not fixed: a task that is done twice or out of order after a crash, a group that
// stays locked after an exception, and a task that is lost.
//
// In the improved form the claim of a group is data: which slot, which process, which
// fencing token, and when its lease ends. One script moves a task from the queue to the
// slot and writes the claim; another one records the end of the work, clears the slot
// and removes the claim, if the claim is still the caller's. The scripts are safe
// without the queue lock. It keeps workers from choosing the same task, and gives the
// claim its fencing token: a worker that was stopped between choosing and taking comes
// back with an old one, and is refused.
//
// Every begin and every end of a piece of work is appended to a log in Redis, by a
// script. A run is judged by that log; workers are not asked.
package imports
