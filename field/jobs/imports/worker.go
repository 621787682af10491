package imports

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// ArticlePoll is the pause of [queue] after each round. While a worker waits for a lock
// that somebody else has it is two fifths of that.
const ArticlePoll = 2 * time.Second

// Work does a task. Start counts how often the task was started, this time
// included. The context ends with the worker, and when somebody else was given
// the task's group.
type Work func(ctx context.Context, t Task, start int) error

// Worker takes tasks and does them, one at a time. It first finishes what stands in its
// slot.
type Worker struct {
	Queue
	Slot  int           // one process at a time has it
	Name  string        // of this process; a restarted one has another name
	TTL   time.Duration // the lease of the locks, and of a claim
	Poll  time.Duration // the article's form pauses so long after each round
	Work  Work
	Build lock.Build // a lock that serves as the queue's, or as a group's
	Env   lock.Env   // what it is built with, but for the key
}

// Form is how a worker takes its tasks, until ctx ends. It returns the first error of a
// lock, of Redis, or of the work in the article's form, and leaves all as it was then:
// the slot, the claim or the group's lock. A worker with the same slot goes on from
// there. When ctx ends, the improved form puts back what it has not finished.
type Form func(w Worker, ctx context.Context) error

// Article is the form that [queue] has, step by step. Its flaws are its exhibit: see
// the package's comment.
func (w Worker) Article(ctx context.Context) error {
	return w.ended(ctx, (&articleWorker{w}).run(ctx))
}

// Improved is the form in which a claim is data.
func (w Worker) Improved(ctx context.Context) error {
	queue, err := w.lock(QueueLock)
	if err != nil {
		return err
	}
	return w.ended(ctx, (&improvedWorker{Worker: w, queue: queue}).run(ctx))
}

// ended is nil when ctx has ended the worker.
func (w Worker) ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("worker %s: %w", w.Name, err)
}

// lock makes an owner of a lock of the job.
func (w Worker) lock(name string) (lock.Lock, error) {
	env := w.Env
	env.Key = w.key(name)
	return w.Build(env)
}

func (w Worker) slot() string { return strconv.Itoa(w.Slot) }
