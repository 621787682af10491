package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/lock"
)

type articleWorker struct{ Worker }

// taken is a task with its group's lock.
type taken struct {
	Task
	group lock.Lock
}

func (w *articleWorker) run(ctx context.Context) error {
	queue, err := w.lock(QueueLock)
	if err != nil {
		return err
	}
	if err := w.leftover(ctx); err != nil && !errors.Is(err, errWork) {
		return err // a failure of the work is only logged here
	}
	for {
		t, err := w.take(ctx, queue)
		if err == nil && t != nil {
			err = w.do(ctx, t)
		}
		if err != nil {
			return err
		}
		if err := lock.Sleep(ctx, w.Poll); err != nil {
			return err
		}
	}
}

// leftover does what a predecessor left in the slot, when the group's lock is
// granted. The predecessor may have died with it.
func (w *articleWorker) leftover(ctx context.Context) error {
	t, err := w.inSlot(ctx)
	if err != nil || t == nil {
		return err
	}
	group, err := w.lock(GroupLock + t.Group())
	if err != nil {
		return err
	}
	for {
		granted, err := group.TryLock(ctx)
		if err != nil {
			return err
		}
		if granted {
			return w.do(ctx, &taken{*t, group})
		}
		if err := lock.Sleep(ctx, w.Poll*2/5); err != nil {
			return err
		}
	}
}

// take goes through the queue if there is something in it and nobody else does.
func (w *articleWorker) take(ctx context.Context, queue lock.Lock) (t *taken, err error) {
	length, err := w.RDB.LLen(ctx, w.key(waiting)).Result()
	if err != nil || length == 0 {
		return nil, err
	}
	granted, err := queue.TryLock(ctx)
	if err != nil || !granted {
		return nil, err
	}
	defer func() {
		// The lease may have ended meanwhile; the article does not look.
		if e := queue.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
			err = errors.Join(err, e)
		}
	}()
	return w.scan(ctx)
}

// scan takes, from the tail, the first task whose group's lock is granted.
func (w *articleWorker) scan(ctx context.Context) (*taken, error) {
	length, err := w.RDB.LLen(ctx, w.key(waiting)).Result()
	if err != nil {
		return nil, err
	}
	for i := length - 1; i >= 0; i-- {
		text, err := w.RDB.LIndex(ctx, w.key(waiting), i).Result()
		if err != nil {
			return nil, fmt.Errorf("read the queue at %d: %w", i, err)
		}
		t, err := parse(text)
		if err != nil {
			return nil, err
		}
		// A handle for each attempt: nobody remembers a group once it is let go.
		group, err := w.lock(GroupLock + t.Group())
		if err != nil {
			return nil, err
		}
		granted, err := group.TryLock(ctx)
		if err != nil {
			return nil, err
		}
		if !granted {
			if err := w.setSlot(ctx, ""); err != nil {
				return nil, err
			}
			continue
		}
		if err := w.setSlot(ctx, text); err != nil {
			return nil, err
		}
		if err := w.RDB.LRem(ctx, w.key(waiting), -1, text).Err(); err != nil {
			return nil, fmt.Errorf("remove task %d: %w", t.ID, err)
		}
		return &taken{t, group}, nil
	}
	return nil, nil
}

// inSlot reads the task that stands in the worker's slot, nil when there is none.
func (w *articleWorker) inSlot(ctx context.Context) (*Task, error) {
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

func (w *articleWorker) setSlot(ctx context.Context, text string) error {
	if err := w.RDB.HSet(ctx, w.key(slots), w.slot(), text).Err(); err != nil {
		return fmt.Errorf("write slot %d: %w", w.Slot, err)
	}
	return nil
}

// errWork says that a task's own work has failed.
var errWork = errors.New("the work failed")

// do does a task, clears the slot and releases the group. An exception skips
// what comes after it.
func (w *articleWorker) do(ctx context.Context, t *taken) error {
	start, err := w.note(ctx, began, t.Task, w.Name)
	if err != nil {
		return err
	}
	if err := w.Work(ctx, t.Task, start); err != nil {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, logged := w.note(own, failed, t.Task, w.Name)
		return errors.Join(fmt.Errorf("task %d: %w: %w", t.ID, errWork, err), logged)
	}
	if _, err := w.note(ctx, ended, t.Task, w.Name); err != nil {
		return err
	}
	if err := w.setSlot(ctx, ""); err != nil {
		return err
	}
	if err := t.group.Unlock(ctx); !errors.Is(err, lock.ErrNotHeld) {
		return err
	}
	return nil // the lease has ended before the work; the article does not look
}
