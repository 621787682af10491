package wrong

import (
	"context"
	"sync"

	"github.com/lockladder/lockladder/lock"
)

// Habits of libraries: a lock asks a mutex of its process before it asks the server, or
// counts in the process how often it is inside.

// local is a lock behind a mutex of its process.
type local struct {
	notifier
	mutex  chan struct{}
	inside bool
	keeps  bool // the mutex, when Unlock finds that the lock was lost
}

type notifier interface {
	lock.Lock
	lock.LossNotifier
}

// behindMutex builds locks with a mutex for each process and each of the names that of
// makes of a lock's.
func behindMutex(of func(key string) string, keeps bool) func() lock.Build {
	type place struct {
		process any
		name    string
	}
	return func() lock.Build {
		var mutexes sync.Map // by place
		return func(env lock.Env) (lock.Lock, error) {
			inner, err := Mistakes{}.Build(env)
			if err != nil {
				return nil, err
			}
			mutex, _ := mutexes.LoadOrStore(place{env.Process, of(env.Key)}, make(chan struct{}, 1))
			return &local{notifier: inner.(notifier), mutex: mutex.(chan struct{}),
				keeps: keeps}, nil
		}
	}
}

// itself is the name of a lock, and all of one mutex.
func itself(key string) string { return key }

// TryLock is lock.Lock's.
func (l *local) TryLock(ctx context.Context) (bool, error) {
	select {
	case l.mutex <- struct{}{}:
	default:
		return false, nil
	}
	granted, err := l.notifier.TryLock(ctx)
	if l.inside = granted; !granted {
		<-l.mutex
	}
	return granted, err
}

// Lock is lock.Lock's.
func (l *local) Lock(ctx context.Context) error {
	select {
	case l.mutex <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := l.notifier.Lock(ctx)
	if l.inside = err == nil; !l.inside {
		<-l.mutex
	}
	return err
}

// Unlock is lock.Lock's.
func (l *local) Unlock(ctx context.Context) error {
	err := l.notifier.Unlock(ctx)
	if l.inside && (err == nil || !l.keeps) {
		l.inside = false
		<-l.mutex
	}
	return err
}

// counted is a lock that its holder may enter again, and that counts in the process.
type counted struct {
	notifier
	count *int
	below bool // one Unlock too many is counted
}

// counting builds locks with a count for each process, or else for each handle.
func counting(perProcess, below bool) func() lock.Build {
	return func() lock.Build {
		var counts sync.Map // by process
		return func(env lock.Env) (lock.Lock, error) {
			inner, err := Mistakes{}.Build(env)
			if err != nil {
				return nil, err
			}
			c := &counted{notifier: inner.(notifier), count: new(int), below: below}
			if perProcess {
				count, _ := counts.LoadOrStore(env.Process, c.count)
				c.count = count.(*int)
			}
			return c, nil
		}
	}
}

// TryLock is lock.Lock's.
func (c *counted) TryLock(ctx context.Context) (bool, error) {
	if *c.count == 0 {
		granted, err := c.notifier.TryLock(ctx)
		if granted {
			*c.count++
		}
		return granted, err
	}
	*c.count++
	return true, nil
}

// Lock is lock.Lock's.
func (c *counted) Lock(ctx context.Context) error {
	if *c.count == 0 {
		if err := c.notifier.Lock(ctx); err != nil {
			return err
		}
	}
	*c.count++
	return nil
}

// Unlock is lock.Lock's.
func (c *counted) Unlock(ctx context.Context) error {
	switch {
	case *c.count <= 0 && !c.below:
		return lock.ErrNotHeld
	case *c.count == 1:
		*c.count--
		return c.notifier.Unlock(ctx)
	}
	*c.count--
	return nil
}
