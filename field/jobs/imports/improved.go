package imports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

type improvedWorker struct {
	Worker
	queue lock.Lock
}

func (w *improvedWorker) run(ctx context.Context) error {
	// It subscribes before it looks, so that a later change wakes it.
	news := w.RDB.Subscribe(ctx, w.key(wake))
	defer news.Close()
	if _, err := news.Receive(ctx); err != nil {
		return fmt.Errorf("subscribe to the queue: %w", err)
	}
	// With subscriptions: messages sent while the connection was down are lost,
	// so a new connection is news. One message says as much as several, and the others
	// are dropped at once: a busy worker must not keep the server waiting.
	heard := news.ChannelWithSubscriptions(redis.WithChannelSize(1),
		redis.WithChannelSendTimeout(time.Millisecond))
	for ctx.Err() == nil {
		t, mine, wait, err := w.next(ctx)
		if err == nil && t != nil {
			err = w.do(ctx, *t, mine)
		}
		if err != nil {
			return err
		}
		if t != nil {
			continue
		}
		select {
		case <-heard:
		case <-wait:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// next takes a task and returns the claim of its group. When there is nothing to
// do it returns what ends with the first lease of a claim.
func (w *improvedWorker) next(ctx context.Context) (*Task, string, <-chan time.Time, error) {
	for {
		// It looks without the lock, because a worker with nothing to do must not
		// keep the others from the queue.
		seen, err := w.look(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		if chosen, err := w.choose(seen); chosen == nil || err != nil {
			return nil, "", seen.firstEnd(), err
		}
		if t, mine, err := w.locked(ctx); t != nil || err != nil {
			return t, mine, nil, err
		}
	}
}

// locked chooses and takes a task under the queue lock. It returns nil when there
// was nothing, or when somebody was quicker.
func (w *improvedWorker) locked(ctx context.Context) (t *Task, mine string, err error) {
	if err := w.queue.Lock(ctx); err != nil {
		return nil, "", err
	}
	defer func() {
		// A lease that has ended meanwhile has cost nothing: the script has seen
		// to that.
		if e := w.queue.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
			err = errors.Join(err, e)
		}
	}()
	seen, err := w.look(ctx)
	if err != nil {
		return nil, "", err
	}
	chosen, err := w.choose(seen)
	if chosen == nil || err != nil {
		return nil, "", err
	}
	return w.take(ctx, *chosen)
}

// view is what a worker sees.
type view struct {
	now    int64            // ms, by the server's clock
	slot   string           // the task in the worker's own, "" when there is none
	claims map[string]int64 // group: when its claim ends
	queue  []string         // the oldest at the end
}

// look reads all of it in one round trip. A queue of many thousands would need an index
// of its groups.
func (w *improvedWorker) look(ctx context.Context) (view, error) {
	p := w.RDB.Pipeline()
	clock := p.Time(ctx)
	own := p.HMGet(ctx, w.key(slots), w.slot())
	claimed := p.HGetAll(ctx, w.key(claims))
	tasks := p.LRange(ctx, w.key(waiting), 0, -1)
	if _, err := p.Exec(ctx); err != nil {
		return view{}, fmt.Errorf("look at the queue: %w", err)
	}
	v := view{now: clock.Val().UnixMilli(), claims: map[string]int64{}, queue: tasks.Val()}
	v.slot, _ = own.Val()[0].(string)
	for group, claim := range claimed.Val() {
		ends, err := strconv.ParseInt(claim[strings.LastIndex(claim, " ")+1:], 10, 64)
		if err != nil {
			return view{}, fmt.Errorf("read the claim %q: %w", claim, err)
		}
		v.claims[group] = ends
	}
	return v, nil
}

// firstEnd ends with the first claim, never without claims.
func (v view) firstEnd() <-chan time.Time {
	if len(v.claims) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Values(v.claims)))
	return time.After(time.Duration(first-v.now) * time.Millisecond)
}

// choice is what a worker wants to take.
type choice struct {
	text  string // the task in the queue, "" when it stands in a slot
	group string
}

// choose finds the next task: the one that a predecessor left in the slot, one that
// another worker left behind, then the oldest whose group is free. It is nil when there
// is none.
func (w *improvedWorker) choose(v view) (*choice, error) {
	if v.slot != "" {
		t, err := parse(v.slot)
		return &choice{group: t.Group()}, err
	}
	for _, group := range slices.Sorted(maps.Keys(v.claims)) {
		if v.claims[group] <= v.now {
			return &choice{group: group}, nil
		}
	}
	for _, text := range slices.Backward(v.queue) {
		t, err := parse(text)
		if _, held := v.claims[t.Group()]; !held || err != nil {
			return &choice{text, t.Group()}, err
		}
	}
	return nil, nil
}

// take takes what was chosen, or nothing when somebody was quicker. Mine is the part of
// the claim that does not change while it is renewed: the slot, the worker, and the
// fencing token.
func (w *improvedWorker) take(ctx context.Context, c choice) (t *Task, mine string, err error) {
	token := uint64(0)
	if fenced, ok := w.queue.(lock.Fenced); ok {
		token = fenced.Token()
	}
	answer, err := take.Run(ctx, w.RDB, []string{w.key(waiting), w.key(claims),
		w.key(slots), w.key(highest)}, c.text, c.group, w.slot(), w.Name, token,
		w.TTL.Milliseconds()).StringSlice()
	if err != nil {
		return nil, "", fmt.Errorf("take a task of %s: %w", c.group, err)
	}
	if answer[0] == "full" {
		return nil, "", fmt.Errorf("slot %d holds another task: is it another worker's?",
			w.Slot)
	}
	if len(answer) < 2 {
		return nil, "", nil
	}
	taken, err := parse(answer[1])
	return &taken, fmt.Sprintf("%d %s %d", w.Slot, w.Name, token), err
}

// do does a task and finishes it. A task whose work fails is put back.
func (w *improvedWorker) do(ctx context.Context, t Task, mine string) error {
	start, err := w.note(ctx, began, t, w.Name)
	if err != nil {
		return err
	}
	working, stop := w.keep(ctx, t.Group(), mine)
	failure := w.Work(working, t, start)
	stop()
	// A task that has begun is finished, or put back, even when the worker is to end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.TTL)
	defer cancel()
	last := finish
	if failure != nil {
		last = giveBack
	}
	if err := last.Run(ctx, w.RDB, []string{w.key(claims), w.key(slots), w.key(log),
		w.key(waiting)}, t.Group(), mine, w.Slot, t.ID, w.Name, w.key(wake),
		t.text()).Err(); err != nil {
		return fmt.Errorf("finish task %d: %w", t.ID, err)
	}
	return nil
}

// keep renews the claim every third of its lease until stop, which joins it. The
// context ends when somebody else has the group.
func (w *improvedWorker) keep(ctx context.Context, group, mine string) (
	working context.Context, stop func()) {
	working, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lock.Sleep(working, w.TTL/3) == nil {
			extended, err := renew.Run(working, w.RDB, []string{w.key(claims)},
				group, mine, w.TTL.Milliseconds()).Int()
			if err == nil && extended == 0 {
				cancel()
			}
		}
	}()
	return working, func() { cancel(); <-done }
}
