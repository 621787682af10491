// Package redlock is the start of the exercise redlock. Its flaw: it ignores the clock.
package redlock

import (
	"context"
	_ "embed"
	"errors"
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
	nodes []*node
	key   string
	ttl   time.Duration
	opts  *lock.Options

	token string // of the newest grant
}

// node is one of the independent servers.
type node struct {
	rdb  redis.UniversalClient
	busy chan struct{} // holds one element while a command is under way
}

var _ lock.Lock = (*Lock)(nil)

// New makes an owner of the lock at key on nodes that know nothing of each
// other. It sends nothing. Its errors wrap lock.ErrInvalid. A majority of one
// node is that node, and of an even number one more than half: four nodes
// survive the loss of one, as three do.
func New(nodes []redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Lock, error) {
	o, err := lock.Configure(nodes, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	l := &Lock{key: key, ttl: ttl, opts: o}
	for _, rdb := range nodes {
		l.nodes = append(l.nodes, &node{rdb, make(chan struct{}, 1)})
	}
	return l, nil
}

// TryLock makes one attempt. (false, err) means that too few nodes answered;
// what it was granted is released as far as nodes can be reached.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	token := l.opts.Token()
	granted, failed, err := l.ask(ctx, l.quorum(),
		func(ctx context.Context, rdb redis.UniversalClient) (bool, error) {
			return rdb.SetNX(ctx, l.key, token, l.ttl).Result()
		})
	if granted >= l.quorum() {
		l.token = token
		return true, nil
	}
	// A node that refused or never answered may have granted all the same, so
	// all are told. The caller's context may be why this failed.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	l.release(own, token)
	if failed > len(l.nodes)-l.quorum() || err != nil && ctx.Err() != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	return false, nil
}

// Lock waits until the lock is granted or ctx ends, asking again and again. It
// returns network errors when too few nodes answer.
func (l *Lock) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.key, l.opts, l.TryLock)
}

// Unlock releases the lock on all nodes. It returns lock.ErrNotHeld when no
// majority of them had it.
func (l *Lock) Unlock(ctx context.Context) error {
	deleted, failed, err := l.release(ctx, l.token)
	if deleted >= l.quorum() {
		return nil
	}
	if deleted+failed >= l.quorum() {
		return lock.Failed(ctx, "release", l.key, err)
	}
	return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
}

// release deletes the token wherever it stands.
func (l *Lock) release(ctx context.Context, token string) (
	deleted, failed int, err error) {
	return l.ask(ctx, 0,
		func(ctx context.Context, rdb redis.UniversalClient) (bool, error) {
			return release.Run(ctx, rdb, []string{l.key}, token).Bool()
		})
}

// quorum is the smallest majority.
func (l *Lock) quorum() int { return len(l.nodes)/2 + 1 }

// ask sends a command to the nodes, one after the other or all at once, and
// counts who said yes and who did not answer; err joins what went wrong. In
// order it stops as soon as need can no longer be reached: a waiter that asked
// on would take nodes from the one that can still win.
func (l *Lock) ask(ctx context.Context, need int, command func(
	context.Context, redis.UniversalClient) (bool, error)) (
	yes, failed int, err error) {
	answers := make(chan answer, len(l.nodes))
	if l.opts.Parallel {
		var asked sync.WaitGroup
		for _, n := range l.nodes {
			asked.Go(func() { answers <- l.askNode(ctx, n, command) })
		}
		asked.Wait()
	}
	for left := len(l.nodes); left > 0; left-- {
		if !l.opts.Parallel {
			if yes+left < need {
				break
			}
			answers <- l.askNode(ctx, l.nodes[len(l.nodes)-left], command)
		}
		switch a := <-answers; {
		case a.err != nil:
			failed++
			err = errors.Join(err, a.err)
		case a.yes:
			yes++
		}
	}
	return yes, failed, err
}

// answer is what one node said.
type answer struct {
	yes bool
	err error
}

// askNode sends a command to one node and waits no longer than the node
// timeout, also where the client's reads do not end with their context. A
// command that is left behind keeps the node busy, so that no later one
// overtakes it, and ends with the client's own timeouts at the latest.
func (l *Lock) askNode(ctx context.Context, n *node, command func(
	context.Context, redis.UniversalClient) (bool, error)) answer {
	ctx, cancel := context.WithTimeout(ctx, l.opts.NodeTimeout)
	select {
	case n.busy <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return answer{err: ctx.Err()}
	}
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		defer func() { <-n.busy }()
		yes, err := command(ctx, n.rdb)
		done <- answer{yes, err}
	}()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
	}
	// The goroutine cancels ctx when it has answered: an answer that is there
	// counts, or a grant would be taken for a failure.
	select {
	case a := <-done:
		return a
	default:
		return answer{err: ctx.Err()}
	}
}
