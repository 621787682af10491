package imports

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed push.lua
var pushSource string
var push = redis.NewScript(pushSource)

//go:embed record.lua
var recordSource string
var record = redis.NewScript(recordSource)

// Queue is where the data of one import job is.
type Queue struct {
	RDB redis.UniversalClient

	// Prefix begins all keys. With a hash tag, "{import}:", a cluster keeps
	// them together.
	Prefix string
}

// The keys below the prefix.
const (
	grouped = "queue"  // a list: tasks with a group, the oldest at the tail
	plain   = "plain"  // a list: tasks without one
	slots   = "slots"  // a hash: slot, the task that its worker has
	claims  = "claims" // a hash: group, its claim; see claim
	log     = "log"    // a list: what has happened
	starts  = "starts" // a hash: task, how often it was started
	highest = "fence"  // the highest fencing token that was seen
	wake    = "wake"   // a channel: there may be something to do

	// QueueLock is the lock of the queue; locks of groups begin with GroupLock.
	QueueLock = "lock:queue"
	GroupLock = "lock:group:"
)

func (q Queue) key(name string) string { return q.Prefix + name }

// waiting is a hash beside a queue: group, how many of its tasks are there.
func (q Queue) waiting(list string) string { return q.key(list) + ":waiting" }

func (q Queue) list(t Task) string {
	if t.Grouped {
		return grouped
	}
	return plain
}

// Load makes the scripts known to the server, so that no task pays for it.
func (q Queue) Load(ctx context.Context) error {
	for _, s := range []*redis.Script{push, record, take, finish, giveBack,
		renew} {
		if err := s.Load(ctx, q.RDB).Err(); err != nil {
			return fmt.Errorf("load the scripts: %w", err)
		}
	}
	return nil
}

// Producer puts tasks into the queues.
type Producer struct {
	Queue
	Lock lock.Lock // an owner of the queue lock
}

// Push pushes tasks in their order: those with a group to their queue, under the
// queue lock, the others to the plain one. The tasks before an error are pushed. When
// the queue lock's lease ended meanwhile, all are pushed, and it is no error.
func (p Producer) Push(ctx context.Context, tasks ...Task) (err error) {
	locked := false
	defer func() {
		if locked {
			if e := p.Lock.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
				err = errors.Join(err, e)
			}
		}
	}()
	for _, t := range tasks {
		if t.Grouped && !locked {
			if err := p.Lock.Lock(ctx); err != nil {
				return fmt.Errorf("push task %d: %w", t.ID, err)
			}
			locked = true
		}
		list := p.list(t)
		if err := push.Run(ctx, p.RDB, []string{p.key(list), p.waiting(list),
			p.key(log)}, t.text(), t.ID, t.Group(), p.key(wake)).
			Err(); err != nil {
			return fmt.Errorf("push task %d: %w", t.ID, err)
		}
	}
	return nil
}

// The kinds of entries in the log.
const (
	pushed  = "push"    // the task is in a queue
	began   = "begin"   // its work has begun
	ended   = "end"     // its work is over, and counts
	refused = "refused" // its work is over, and somebody else has the group
	failed  = "fail"    // its work has failed
	died    = "dead"    // the worker has ended, and whoever supervises it knows
)

// begin logs that a task's work has begun and returns how often it has by now.
func (q Queue) begin(ctx context.Context, t Task, worker string) (int, error) {
	return q.note(ctx, began, strconv.Itoa(t.ID), t.Group(), worker)
}

// Died logs that a worker has ended. It is called by whoever supervises it, when
// the worker does nothing more.
func (q Queue) Died(ctx context.Context, worker string) error {
	_, err := q.note(ctx, died, "-", "-", worker)
	return err
}

func (q Queue) note(ctx context.Context, kind, task, group, worker string) (
	int, error) {
	n, err := record.Run(ctx, q.RDB, []string{q.key(log), q.key(starts)},
		kind, task, group, worker).Int()
	if err != nil {
		return 0, fmt.Errorf("log the %s of task %s: %w", kind, task, err)
	}
	return n, nil
}

// Left returns the tasks that stand in a queue or in a slot.
func (q Queue) Left(ctx context.Context) ([]Task, error) {
	var texts []string
	for _, list := range []string{grouped, plain} {
		found, err := q.RDB.LRange(ctx, q.key(list), 0, -1).Result()
		if err != nil {
			return nil, fmt.Errorf("read the queues: %w", err)
		}
		texts = append(texts, found...)
	}
	found, err := q.RDB.HVals(ctx, q.key(slots)).Result()
	if err != nil {
		return nil, fmt.Errorf("read the slots: %w", err)
	}
	var tasks []Task
	for _, text := range append(texts, found...) {
		if text == "" {
			continue // the article clears a slot so
		}
		t, err := parse(text)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}
