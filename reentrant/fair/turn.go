package fair

import (
	"cmp"
	"context"
	"time"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/internal/waiters"
)

// keys are the lock, its queue, its turn, which is also a channel, and its
// waiters.
func (l *Lock) keys() []string {
	return []string{l.key, lock.SecondKey(l.key, "queue"), channel(l.key),
		lock.SecondKey(l.key, "waiters")}
}

// channel is where the turns of a lock are told.
func channel(key string) string { return lock.SecondKey(key, "turn") }

// id is the owner id to ask with. One that was sent with a release is never
// used again: the release may still be on its way, and must not find the next
// acquisition under it. One whose acquisition was not answered is kept: asking
// again under it finds the caller's own grant.
func (l *Lock) id() string {
	if l.token == "" || l.tokenReleased {
		l.token, l.tokenReleased = l.opts.Token(), false
	}
	return l.token
}

// ask asks the server. An owner that waits asks for others as well. The lease
// of a grant counts from when the question was sent.
func (l *Lock) ask(ctx context.Context, w *waiters.Waiter) (granted bool,
	sent time.Time, err error) {
	behind, vacant, roundTrip := w.Ask(l.token)
	turn := waiters.Turn(l.ttl, cmp.Or(roundTrip, l.roundTrip))
	sent = time.Now()
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb), l.keys(),
		append([]any{l.token, l.ttl.Milliseconds(), l.count + 1, w != nil,
			turn.Milliseconds(), w.Process(), vacant}, behind...)...).Int64()
	w.Answered(err, time.Duration(-reply)*time.Millisecond, time.Since(sent))
	if err == nil {
		l.roundTrip = time.Since(sent)
	}
	return reply > 0, sent, err
}

// undoGrant releases a grant that came too late to be one.
func (l *Lock) undoGrant(ctx context.Context) error {
	l.tokenReleased = true
	return lock.IgnoreNotHeld(l.release(ctx, 0, waiters.Next{}, l.ttl))
}

// next is the neighbor that a release hands the lock over to, if there is one.
func (l *Lock) next() waiters.Next {
	return waiters.First(l.rdb, channel(l.key), l.token)
}

// giveUp leaves the queue at the server, if that may know of the waiter, and
// passes the turn on if it has come. Those that give up at the same time leave
// with one command. When that fails, the others wait for the end of a turn for
// each; and for a lease if this process alone was to look after the turn of
// another one that is dead.
func (l *Lock) giveUp(ctx context.Context, w *waiters.Waiter) {
	if !w.IsNamed(l.token) {
		return
	}
	l.tokenReleased = true
	w.GiveUp(waiters.TurnOf(l.ttl), func(ids []any, within time.Duration) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		release.Run(ctx, lock.Once(l.rdb), l.keys(),
			append([]any{l.token, l.ttl.Milliseconds(), 0, "", 0}, ids...)...)
	})
}
