package imports

import (
	"cmp"
	"context"
	_ "embed"
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

//go:embed take.lua
var takeSource string
var take = redis.NewScript(takeSource)

//go:embed finish.lua
var finishSource string
var finish = redis.NewScript(finishSource)

//go:embed giveback.lua
var giveBackSource string
var giveBack = redis.NewScript(giveBackSource)

//go:embed renew.lua
var renewSource string
var renew = redis.NewScript(renewSource)

// window is how much of the queue is read at once.
const window = 64

// improvedWorker is the form in which a claim is data.
type improvedWorker struct {
	Worker
	queue lock.Lock
	plain bool // the plain queue is looked at first
}

// claim is who has a group, until when.
type claim struct {
	slot, worker, token string
	ends                int64 // ms, by the server's clock
}

// who is the part of a claim that does not change while it is renewed.
func (c claim) who() string { return c.slot + " " + c.worker + " " + c.token }

// parseClaim reads what take.lua has written.
func parseClaim(text string) (claim, error) {
	words := strings.Fields(text)
	if len(words) != 4 {
		return claim{}, fmt.Errorf("read the claim %q: it has no four words", text)
	}
	ends, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil {
		return claim{}, fmt.Errorf("read the claim %q: %w", text, err)
	}
	return claim{words[0], words[1], words[2], ends}, nil
}

func (w Worker) runImproved(ctx context.Context) error {
	queue, err := w.lock(QueueLock)
	if err != nil {
		return err
	}
	return (&improvedWorker{Worker: w, queue: queue}).run(ctx)
}

func (w *improvedWorker) run(ctx context.Context) error {
	// It subscribes before it looks, so that a later change wakes it.
	news, err := listen(ctx, w.Queue)
	if err != nil {
		return err
	}
	defer news.close()
	t, mine, err := w.resume(ctx)
	for err == nil {
		var wait time.Duration
		if t != nil {
			err = w.do(ctx, *t, mine)
		}
		if err == nil && ctx.Err() == nil {
			t, mine, wait, err = w.next(ctx)
		}
		if err == nil && t == nil {
			err = news.wait(ctx, wait)
		}
		err = cmp.Or(err, ctx.Err())
	}
	return err
}

// next takes a task and returns the claim of its group. When there is nothing to
// do it returns how long it is until the first lease of a claim ends, 0 when there
// is no claim.
func (w *improvedWorker) next(ctx context.Context) (
	*Task, claim, time.Duration, error) {
	for {
		// It looks without the lock, because a worker with nothing to do must not
		// keep the others from the queue.
		seen, err := w.look(ctx)
		if err != nil {
			return nil, claim{}, 0, err
		}
		if !seen.anything() {
			return nil, claim{}, seen.firstEnd(), nil
		}
		t, mine, err := w.locked(ctx, w.choose)
		if t != nil || err != nil {
			return t, mine, 0, err
		}
	}
}

// resume takes what a predecessor left in the worker's slot.
func (w *improvedWorker) resume(ctx context.Context) (*Task, claim, error) {
	for {
		left, err := w.inSlot(ctx)
		if left == nil || err != nil {
			return nil, claim{}, err
		}
		t, mine, err := w.locked(ctx, func(context.Context) (*choice, error) {
			return &choice{group: left.Group(), list: w.list(*left)}, nil
		})
		if t != nil || err != nil {
			return t, mine, err
		}
	}
}

// locked chooses and takes a task under the queue lock. It returns nil when there
// was nothing, or when somebody was quicker.
func (w *improvedWorker) locked(ctx context.Context,
	choose func(context.Context) (*choice, error)) (t *Task, mine claim,
	err error) {
	if err := w.queue.Lock(ctx); err != nil {
		return nil, claim{}, err
	}
	defer func() {
		// A lease that has ended meanwhile has cost nothing: the script has seen
		// to that.
		if e := w.queue.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
			err = errors.Join(err, e)
		}
	}()
	chosen, err := choose(ctx)
	if chosen == nil || err != nil {
		return nil, claim{}, err
	}
	return w.take(ctx, *chosen)
}

// choice is what a worker wants to take.
type choice struct {
	text  string // the task in the queue, "" when it stands in a slot
	group string
	list  string
}

// take takes what was chosen, or nothing when somebody was quicker.
func (w *improvedWorker) take(ctx context.Context, c choice) (
	*Task, claim, error) {
	mine := claim{slot: w.slot(), worker: w.Name, token: "0"}
	if fenced, ok := w.queue.(lock.Fenced); ok {
		mine.token = strconv.FormatUint(fenced.Token(), 10)
	}
	answer, err := take.Run(ctx, w.RDB, []string{w.key(c.list),
		w.waiting(c.list), w.key(claims), w.key(slots), w.key(highest)},
		c.text, c.group, mine.slot, mine.worker, mine.token,
		w.TTL.Milliseconds()).StringSlice()
	if err != nil {
		return nil, claim{}, fmt.Errorf("take a task of %s: %w", c.group, err)
	}
	if answer[0] == "full" {
		return nil, claim{}, fmt.Errorf("slot %d holds another task: is it"+
			" another worker's?", w.Slot)
	}
	if len(answer) < 2 {
		return nil, claim{}, nil
	}
	t, err := parse(answer[1])
	if err != nil {
		return nil, claim{}, err
	}
	return &t, mine, nil
}

// view is what a worker sees of the queues.
type view struct {
	now     int64 // ms, by the server's clock
	claims  map[string]claim
	waiting map[string]string // group: how many tasks
	plain   []string          // the oldest task of the plain queue
	tail    []string          // the oldest tasks of the other one
}

// look reads all of it in one round trip.
func (w *improvedWorker) look(ctx context.Context) (view, error) {
	p := w.RDB.Pipeline()
	clock := p.Time(ctx)
	claimed := p.HGetAll(ctx, w.key(claims))
	waiting := p.HGetAll(ctx, w.waiting(grouped))
	oldest := p.LRange(ctx, w.key(plain), -1, -1)
	tail := p.LRange(ctx, w.key(grouped), -window, -1)
	if _, err := p.Exec(ctx); err != nil {
		return view{}, fmt.Errorf("look at the queues: %w", err)
	}
	v := view{now: clock.Val().UnixMilli(), claims: map[string]claim{},
		waiting: waiting.Val(), plain: oldest.Val(), tail: tail.Val()}
	for group, text := range claimed.Val() {
		c, err := parseClaim(text)
		if err != nil {
			return view{}, err
		}
		v.claims[group] = c
	}
	return v, nil
}

// anything says whether there is something to take.
func (v view) anything() bool {
	return len(v.plain) > 0 || v.orphan() != "" || v.grouped()
}

// grouped says whether a task waits in the queue whose group is free.
func (v view) grouped() bool {
	for group := range v.waiting {
		if _, held := v.claims[group]; !held {
			return true
		}
	}
	return false
}

// orphan is the group whose claim ran out first, "" when there is none.
func (v view) orphan() string {
	group := ""
	for _, g := range slices.Sorted(maps.Keys(v.claims)) {
		if ends := v.claims[g].ends; ends <= v.now &&
			(group == "" || ends < v.claims[group].ends) {
			group = g
		}
	}
	return group
}

// firstEnd is how long it is until the first claim runs out, 0 without claims.
func (v view) firstEnd() time.Duration {
	if len(v.claims) == 0 {
		return 0
	}
	first := slices.MinFunc(slices.Collect(maps.Values(v.claims)),
		func(a, b claim) int { return cmp.Compare(a.ends, b.ends) })
	return time.Duration(first.ends-v.now) * time.Millisecond
}

// choose finds the next task: one that another worker left behind, then by turns
// the oldest of the plain queue and the oldest whose group is free.
func (w *improvedWorker) choose(ctx context.Context) (*choice, error) {
	v, err := w.look(ctx)
	if err != nil {
		return nil, err
	}
	if group := v.orphan(); group != "" {
		return &choice{group: group, list: grouped}, nil
	}
	w.plain = !w.plain
	if len(v.plain) > 0 && (w.plain || !v.grouped()) {
		t, err := parse(v.plain[0])
		return &choice{v.plain[0], t.Group(), plain}, err
	}
	if !v.grouped() {
		return nil, nil
	}
	for begin := int64(window); len(v.tail) > 0; begin += window {
		for _, text := range slices.Backward(v.tail) {
			t, err := parse(text)
			if err != nil {
				return nil, err
			}
			if _, held := v.claims[t.Group()]; !held {
				return &choice{text, t.Group(), grouped}, nil
			}
		}
		if v.tail, err = w.RDB.LRange(ctx, w.key(grouped), -begin-window,
			-begin-1).Result(); err != nil {
			return nil, fmt.Errorf("read the queue: %w", err)
		}
	}
	return nil, nil
}

// do does a task and finishes it. A task whose work fails is put back.
func (w *improvedWorker) do(ctx context.Context, t Task, mine claim) error {
	start, err := w.begin(ctx, t, w.Name)
	if err != nil {
		return err
	}
	working, stop := w.keep(ctx, t.Group(), mine)
	failure := w.Work(working, t, start)
	stop()
	// A task that has begun is finished, or put back, even when the worker is to end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.TTL)
	defer cancel()
	about := []any{t.Group(), mine.who(), mine.slot, t.ID, w.Name, w.key(wake)}
	keys := []string{w.key(claims), w.key(slots), w.key(log)}
	if failure != nil {
		list := w.list(t)
		err = giveBack.Run(ctx, w.RDB, append(keys, w.key(list),
			w.waiting(list)), append(about, t.text())...).Err()
	} else {
		err = finish.Run(ctx, w.RDB, keys, about...).Err()
	}
	if err != nil {
		return fmt.Errorf("finish task %d: %w", t.ID, err)
	}
	return nil
}

// keep renews the claim every third of its lease until stop, which joins it. The
// context ends when somebody else has the group.
func (w *improvedWorker) keep(ctx context.Context, group string, mine claim) (
	working context.Context, stop func()) {
	working, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lock.Sleep(working, w.TTL/3) == nil {
			extended, err := renew.Run(working, w.RDB, []string{w.key(claims)},
				group, mine.who(), w.TTL.Milliseconds()).Int()
			if err == nil && extended == 0 {
				cancel()
			}
		}
	}()
	return working, func() { cancel(); <-done }
}
