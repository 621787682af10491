// Package cohort is the start of the exercise cohort. Its flaw: the lock never leaves the process.
package cohort

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed release.lua
var releaseSource string
var release = redis.NewScript(releaseSource)

// Lock is one owner of the lock at a key, used by one goroutine at a time.
type Lock struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options

	token string // of the newest grant

	cohort *cohort // while it has the local lock or waits for it
}

// cohort is the owners of one process that use one lock. One of them has the
// local lock: it may ask the server, or hold the lock.
type cohort struct {
	local chan struct{} // holds one element while an owner has the local lock
	users int           // how many have it or wait for it; cohorts guards it
	token string        // of a grant that is passed on with the local lock
}

// place is where a lock stands.
type place struct {
	rdb redis.UniversalClient
	key string
}

// cohorts are those in use. Nobody asks Redis while it holds the mutex.
var cohorts = struct {
	sync.Mutex
	of map[place]*cohort
}{of: map[place]*cohort{}}

var _ lock.Lock = (*Lock)(nil)

// New makes an owner of the lock at key. It sends nothing. Its errors wrap
// lock.ErrInvalid.
func New(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Lock, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	return &Lock{rdb: rdb, key: key, ttl: ttl, opts: o}, nil
}

// TryLock makes one attempt. (false, err) means unknown: the lock may have been
// granted at the server. Behind another owner of this process it is refused.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	l.join()
	select {
	case l.cohort.local <- struct{}{}:
	default:
		l.leave()
		return false, nil
	}
	granted, err := l.ask(ctx)
	if !granted {
		l.pass()
	}
	return granted, err
}

// ask takes the grant that was passed on, or asks the server for one.
func (l *Lock) ask(ctx context.Context) (bool, error) {
	if l.cohort.token != "" {
		l.token, l.cohort.token = l.cohort.token, ""
		return true, nil
	}
	token := l.opts.Token()
	granted, err := l.rdb.SetNX(ctx, l.key, token, l.ttl).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	if granted {
		l.token = token
	}
	return granted, nil
}

// Lock waits until the lock is granted or ctx ends: first for the local lock of
// this process, and then for the server. It returns network errors at once.
func (l *Lock) Lock(ctx context.Context) error {
	l.join()
	select {
	case l.cohort.local <- struct{}{}:
	case <-ctx.Done():
		l.leave()
		return lock.Failed(ctx, "wait for", l.key, ctx.Err())
	}
	err := lock.Poll(ctx, l.key, l.opts, l.ask)
	if err != nil {
		l.pass()
	}
	return err
}

// Unlock passes the lock on to another owner of this process, or releases it.
// It returns lock.ErrNotHeld when there was nothing to release.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.cohort == nil {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	defer l.pass()
	if !l.alone() {
		l.cohort.token = l.token
		return nil
	}
	deleted, err := release.Run(ctx, l.rdb, []string{l.key}, l.token).Int()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if deleted == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}

// join makes the owner one of its process's cohort.
func (l *Lock) join() {
	cohorts.Lock()
	defer cohorts.Unlock()
	at := place{l.rdb, l.key}
	if cohorts.of[at] == nil {
		cohorts.of[at] = &cohort{local: make(chan struct{}, 1)}
	}
	l.cohort = cohorts.of[at]
	l.cohort.users++
}

// alone says whether nobody else of the process waits.
func (l *Lock) alone() bool {
	cohorts.Lock()
	defer cohorts.Unlock()
	return l.cohort.users == 1
}

// pass gives up the local lock.
func (l *Lock) pass() {
	<-l.cohort.local
	l.leave()
}

// leave ends the owner's part in the cohort; the last one ends the cohort.
func (l *Lock) leave() {
	cohorts.Lock()
	defer cohorts.Unlock()
	if l.cohort.users--; l.cohort.users == 0 {
		delete(cohorts.of, place{l.rdb, l.key})
	}
	l.cohort = nil
}
