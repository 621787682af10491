package imports

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// Form is how a worker takes its tasks.
type Form string

// The forms.
const (
	Article  Form = "article"  // as [queue] has it
	Improved Form = "improved" // the claim is data
)

// ArticlePoll is the pause of [queue] after each round. While a worker waits for a lock
// that somebody else has it is two fifths of that.
const ArticlePoll = 2 * time.Second

// Work does a task. Start counts how often the task was started, this time
// included. The context ends with the worker, and when somebody else was given
// the task's group.
type Work func(ctx context.Context, t Task, start int) error

// Worker takes tasks and does them, one at a time.
type Worker struct {
	Queue
	Form  Form
	Slot  int           // one process at a time has it
	Name  string        // of this process; a restarted one has another name
	TTL   time.Duration // the lease of the locks, and of a claim
	Poll  time.Duration // the article's form pauses so long after each round
	Work  Work
	Build lock.Build // a lock that serves as the queue's, or as a group's
	Env   lock.Env   // what it is built with, but for the key
}

// Run first finishes what stands in the worker's slot, and then takes one task
// after the other until ctx ends. It then returns nil, and the improved form has
// put back what it had not finished.
//
// It returns the first error of a lock, of Redis, or of the work in the article's
// form, and leaves all as it was then: the slot, the claim or the group's lock. A
// worker with the same slot goes on from there.
func (w Worker) Run(ctx context.Context) error {
	run := w.runImproved
	if w.Form == Article {
		run = (&articleWorker{w}).run
	}
	err := run(ctx)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("worker %s: %w", w.Name, err)
	}
	return nil
}

// lock makes an owner of a lock of the job.
func (w Worker) lock(name string) (lock.Lock, error) {
	env := w.Env
	env.Key = w.key(name)
	return w.Build(env)
}

func (w Worker) slot() string { return strconv.Itoa(w.Slot) }

// inSlot reads the task that stands in the worker's slot, nil when there is none.
func (w Worker) inSlot(ctx context.Context) (*Task, error) {
	found, err := w.RDB.HMGet(ctx, w.key(slots), w.slot()).Result()
	if err != nil {
		return nil, fmt.Errorf("read slot %d: %w", w.Slot, err)
	}
	text, _ := found[0].(string)
	if text == "" {
		return nil, nil
	}
	t, err := parse(text)
	return &t, err
}
