package scenarios

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// ErrNotHeld is what Unlock returns, perhaps wrapped, when the lock wasn't its owner's.
var ErrNotHeld = lock.ErrNotHeld

// Known declares what the lock is known to break, "overrun_overlap: two holders" each, as
// Flaws does. A failed run prints the lines.
func Known(entries ...string) Option { return Flaws(lock.Flaws(entries...)...) }

// adapter turns a library's calls into a Lock. Each grant is released by a function that
// says whether the lock was still its own.
type adapter struct {
	take    func(ctx context.Context, wait bool) (func(context.Context) error, <-chan struct{}, error)
	refused error

	release func(context.Context) error // of the newest grant; nil: there is none
	lost    <-chan struct{}
}

// notifying is an adapter whose library tells its holder of a loss.
type notifying struct{ adapter }

func (a *notifying) Lost() <-chan struct{} { return a.lost }

func (a *adapter) TryLock(ctx context.Context) (bool, error) { return a.acquire(ctx, false) }

// Lock asks again while the library gives up before ctx ends.
func (a *adapter) Lock(ctx context.Context) error {
	for {
		granted, err := a.acquire(ctx, true)
		if granted || err != nil {
			return err
		}
		if err := lock.ContextErr(ctx); err != nil {
			return err
		}
		select { // a library that doesn't wait would be asked without a pause
		case <-time.After(lock.DefaultPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *adapter) acquire(ctx context.Context, wait bool) (bool, error) {
	release, lost, err := a.take(ctx, wait)
	switch {
	case err == nil:
		a.release, a.lost = release, lost
		return true, nil
	case errors.Is(err, a.refused):
		return false, nil
	case lock.ContextErr(ctx) != nil: // drivers say so in ways of their own
		return false, errors.Join(lock.ContextErr(ctx), err)
	}
	return false, err
}

func (a *adapter) Unlock(ctx context.Context) error {
	if a.release == nil {
		return ErrNotHeld
	}
	return a.release(ctx)
}

// Handle makes a Lock of a library that returns a handle for each grant, such as
// bsm/redislock. Obtain makes an attempt, or waits in the library's way where wait is true,
// and returns how the grant is released. The library's errors for a lock that another one
// has, and for a release of what isn't held, are refused and notHeld.
//
//	return scenarios.Handle(func(ctx context.Context, wait bool) (func(context.Context) error, error) {
//		held, err := client.Obtain(ctx, env.Key, env.TTL, nil)
//		return held.Release, err
//	}, redislock.ErrNotObtained, redislock.ErrLockNotHeld), nil
func Handle(obtain func(ctx context.Context, wait bool) (release func(context.Context) error,
	err error), refused, notHeld error) Lock {
	return &adapter{refused: refused, take: func(ctx context.Context, wait bool) (
		func(context.Context) error, <-chan struct{}, error) {
		release, err := obtain(ctx, wait)
		return func(ctx context.Context) error {
			err := release(ctx)
			if errors.Is(err, notHeld) {
				return ErrNotHeld
			}
			return err
		}, nil, err
	}}
}

// Held makes a Lock of a library whose grant is a context, such as rueidislock: it ends when
// the lock is lost, and its cancel function releases. The scenarios' contexts limit only the
// waiting, so hold gets one that they end no more once the lock is granted. What try returns
// for a lock that another one has is refused.
//
//	return scenarios.Held(func(ctx context.Context, wait bool) (context.Context, context.CancelFunc, error) {
//		if wait {
//			return locker.WithContext(ctx, env.Key)
//		}
//		return locker.TryWithContext(ctx, env.Key)
//	}, rueidislock.ErrNotLocked), nil
func Held(hold func(ctx context.Context, wait bool) (context.Context, context.CancelFunc, error),
	refused error) Lock {
	take := func(ctx context.Context, wait bool) (func(context.Context) error, <-chan struct{}, error) {
		alive, end := context.WithCancel(context.WithoutCancel(ctx))
		waited := context.AfterFunc(ctx, end)
		held, release, err := hold(alive, wait)
		if !waited() && err == nil { // granted just as ctx ended
			release()
			err = ctx.Err()
		}
		if err != nil {
			end()
			return nil, nil, err
		}
		lost := make(chan struct{})
		keep := context.AfterFunc(held, func() { close(lost) })
		return func(context.Context) error {
			if !keep() { // the library had ended the grant before
				return ErrNotHeld
			}
			release()
			return nil
		}, lost, nil
	}
	return &notifying{adapter{take: take, refused: refused}}
}

var errNotEntered = errors.New("the library returned no error and never called back")

// Using makes a Lock of a library that runs a callback while it has the lock, such as
// redlock's using. Run returns when the callback has returned and the lock is released. Its
// context ends when the lock is lost, if the library tells. Each grant keeps a goroutine
// until Unlock, or until the scenario has ended.
//
//	return scenarios.Using(env, func(ctx context.Context, wait bool, inside func(context.Context)) error {
//		return mylock.Do(ctx, env.Key, inside)
//	}, mylock.ErrTaken), nil
func Using(env Env, run func(ctx context.Context, wait bool, inside func(context.Context)) error,
	refused error) Lock {
	take := func(ctx context.Context, wait bool) (func(context.Context) error, <-chan struct{}, error) {
		alive, end := context.WithCancel(context.WithoutCancel(ctx))
		entered, leave := make(chan struct{}), make(chan struct{})
		lost, done := make(chan struct{}), make(chan error, 1)
		var settled atomic.Bool // by the callback, which enters, or by the end of ctx
		go func() {             // joined by the release, or ended with the scenario
			defer end()
			done <- run(alive, wait, func(held context.Context) {
				if settled.CompareAndSwap(false, true) {
					close(entered)
					stays(env, leave, held, lost)
				}
			})
		}()
		select {
		case <-entered:
		case err := <-done:
			return nil, nil, cmp.Or(err, lock.ContextErr(ctx), errNotEntered)
		case <-ctx.Done():
			if settled.CompareAndSwap(false, true) {
				end()
				return nil, nil, ctx.Err()
			}
		}
		return leaving(leave, done), lost, nil
	}
	return &notifying{adapter{take: take, refused: refused}}
}

// stays returns with leave or with the scenario. It closes lost when held ends before.
func stays(env Env, leave chan struct{}, held context.Context, lost chan struct{}) {
	select {
	case <-leave:
		return
	case <-env.Done:
		return
	case <-held.Done():
		close(lost)
	}
	select {
	case <-leave:
	case <-env.Done:
	}
}

// leaving makes the release of one grant. It ends with the library's call, which knows
// nothing of the release's context. When that has failed, nobody knows whether the lock is
// held, and the next release says so again.
func leaving(leave chan struct{}, done <-chan error) func(context.Context) error {
	var said error
	return func(context.Context) error {
		if said != nil {
			return said
		}
		close(leave)
		err := <-done
		said = cmp.Or(err, ErrNotHeld)
		return err
	}
}
