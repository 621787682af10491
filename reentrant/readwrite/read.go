package readwrite

import (
	"cmp"
	"context"
	_ "embed"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed read.lua
var readSource string
var read = redis.NewScript(readSource)

var _ lock.ReadWrite = (*Lock)(nil)
var _ lock.Fenced = (*Lock)(nil)

// reading is the side of the owner that reads.
type reading struct {
	reads       int         // how often it is inside as a reader
	seen        string      // what read.lua said when RLock began
	keptReading atomic.Bool // it has released the write lock, and reads on
	askedAs     role        // as what it has used its id
}

// role is how an owner is inside, in the numbers of release.lua.
type role int

const (
	reader role = 1
	writer role = 2
)

// TryRLock makes one attempt to read; an owner that is inside enters once more,
// also as the writer. It is refused while a writer waits. Errors are those of
// TryLock, but for lock.ErrUpgrade.
func (l *Lock) TryRLock(ctx context.Context) (bool, error) {
	if !l.busy.CompareAndSwap(false, true) {
		return false, lock.Failed(ctx, "read-lock", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	l.seen = ""
	return l.tryRLock(ctx, false)
}

// tryRLock is TryRLock for the goroutine that has made the handle busy.
func (l *Lock) tryRLock(ctx context.Context, wait bool) (bool, error) {
	if l.count > 0 {
		return l.readToo(ctx)
	}
	if err := l.askAs(ctx, reader); err != nil {
		return false, err
	}
	if l.token == "" || l.tokenReleased { // as in tryLock
		l.token, l.tokenReleased = l.opts.Token(), false
	}
	sent := time.Now()
	reply, err := read.Run(ctx, lock.Bounded(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), l.reads+1, l.seen,
		l.channel(), wait).Int64Slice()
	if err != nil {
		return false, lock.Failed(ctx, "read-lock", l.key, err)
	}
	granted := reply[0] == 1
	l.remaining = time.Duration(-reply[0]) * time.Millisecond
	l.seen = cmp.Or(l.seen, strconv.FormatInt(reply[1], 10))
	if l.reads > 0 {
		return l.reenter(ctx, granted, &l.reads)
	}
	if granted {
		l.lease.Stop() // before the clock is read: stopping may take a while
	}
	// A late reply is no grant: a writer may be inside.
	if granted && time.Since(sent) >= l.ttl {
		return false, l.giveBack(ctx, l.ttl)
	}
	if granted {
		l.reads = 1
		l.watch(l.token, sent)
	}
	return granted, nil
}

// readToo lets the writer read. The write lock keeps everybody else out, so the
// server hears of this reader when it no longer writes. Until then it counts as
// one more level of the writer: only the first level may take a free lock.
func (l *Lock) readToo(ctx context.Context) (bool, error) {
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), l.count+1, false).Int64()
	if err != nil {
		return false, lock.Failed(ctx, "read-lock", l.key, err)
	}
	return l.reenter(ctx, reply > 0, &l.reads)
}

// RLock waits until the read lock is granted or ctx ends: for the writer that
// holds the lock, or for one that waited before it, and no other one gets in
// meanwhile. It asks again when a message says so, and at the latest after a
// third of its own lease. It returns network errors, and all other errors of
// TryRLock, at once. After such an error writers may be held back for up to one
// more lease.
func (l *Lock) RLock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "read-lock", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	l.seen = ""
	var w *waiter
	for {
		granted, err := l.tryRLock(ctx, true)
		if granted || err != nil {
			return err
		}
		if w == nil { // as in Lock
			w = join(l.rdb, l.channel(), reader)
			defer func() { l.leave(ctx, w, l.reads > 0) }()
		}
		if err := w.wait(ctx, min(l.remaining, l.ttl/3)); err != nil {
			return lock.Failed(ctx, "wait to read", l.key, err)
		}
	}
}

// RUnlock leaves one level of reading, and the outermost one releases the lock,
// unless the owner has the write lock besides. Errors are those of Unlock.
func (l *Lock) RUnlock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "read-unlock", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	if l.reads == 0 && l.count > 0 {
		return lock.Failed(ctx, "read-unlock", l.key, lock.ErrNotHeld)
	}
	l.reads = max(l.reads-1, 0)
	if l.count+l.reads == 0 {
		l.lease.Stop() // stopped first: no renewal may follow the release
		l.tokenReleased = true
		l.keptReading.Store(false)
	}
	return l.release(ctx, reader, l.ttl)
}

// askAs comes before a question. One that isn't inside asks under a new id when
// it was refused, or not answered, in its other role. A command of that role
// may still be on its way, and would find the lock under its own id. The old id
// is released: it may have been granted that lock.
func (l *Lock) askAs(ctx context.Context, now role) error {
	if now == writer && l.count == 0 && l.reads > 0 {
		return lock.Failed(ctx, "acquire", l.key, lock.ErrUpgrade)
	}
	if l.count+l.reads > 0 {
		return nil
	}
	if l.askedAs == now || l.token == "" || l.tokenReleased {
		l.askedAs = now
		return nil
	}
	if err := lock.ContextErr(ctx); err != nil {
		return lock.Failed(ctx, "acquire", l.key, err)
	}
	within := l.ttl / 3
	if end, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(end))
	}
	l.askedAs = now
	return l.giveBack(ctx, within)
}

// giveBack releases what the owner may have without knowing: a grant that came
// too late to be one, or was not answered, or its place among those that wait.
func (l *Lock) giveBack(ctx context.Context, within time.Duration) error {
	l.tokenReleased = true
	return lock.IgnoreNotHeld(l.release(ctx, reader, within))
}

// leave ends a wait. A waiter whose context has ended lets those in that were
// held back for it, unless it has done so when it gave back a late grant. A
// server that it can't reach forgets it after a lease.
func (l *Lock) leave(ctx context.Context, w *waiter, granted bool) {
	if !granted && !l.tokenReleased && lock.ContextErr(ctx) != nil {
		l.giveBack(ctx, l.ttl/3)
	}
	w.leave(granted)
}

// keys are the write lock, its readers, the writers that wait, the counter of
// their fencing tokens, and the readers that come before the next writer.
func (l *Lock) keys() []string {
	return []string{l.key, lock.SecondKey(l.key, "readers"),
		lock.SecondKey(l.key, "writers"), lock.SecondKey(l.key, "token"),
		lock.SecondKey(l.key, "waiting")}
}

// channel is where releases are told.
func (l *Lock) channel() string { return lock.SecondKey(l.key, "released") }

// Token is the fencing token of the newest write grant, 0 before the first.
// Write grants of the key have rising tokens; entering once more keeps the
// token, and a read lock has none.
func (l *Lock) Token() uint64 { return l.fence }
