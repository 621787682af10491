package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// owner is one owner of the program's lock.
type owner struct {
	of    *conversation
	name  string
	grant int // the request that was granted last
	token uint64
}

// build makes an owner in the program, as a lock with the features that the program
// offers.
func (c *conversation) build(env lock.Env) (lock.Lock, error) {
	c.mu.Lock()
	c.owners++
	o := &owner{of: c, name: fmt.Sprint("owner ", c.owners)}
	c.mu.Unlock()
	r := Request{Type: Build, Owner: o.name, Key: env.Key,
		Lease: env.TTL.Milliseconds()}
	// The clients aren't used, only checked: a program has its own.
	nodes := env.Nodes
	if len(nodes) == 0 {
		nodes = []redis.UniversalClient{new(redis.Client)}
	}
	options, err := lock.Configure(nodes, env.Key, env.TTL, env.Options)
	if err != nil {
		return nil, err
	}
	r.Poll = options.LongestPause().Milliseconds()
	r.NodeTimeout = options.NodeTimeout.Milliseconds()
	r.FixedLease = options.FixedLease
	ctx, cancel := context.WithTimeout(context.Background(),
		c.program.patience.hello)
	defer cancel()
	a, err := c.ask(ctx, r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = c.misbehaves("has not answered \"build\" within %v",
			c.program.patience.hello)
	case err == nil && a.Type != OK:
		err = o.unexpected(r, a)
	}
	if err != nil {
		return nil, fmt.Errorf("build an owner: %w", err)
	}
	return o.offering(c.program), nil
}

// unexpected is the error of an answer that isn't the one of its request.
func (o *owner) unexpected(r Request, a Answer) error {
	if a.Type != Error {
		return o.of.misbehaves("answers %q with %s", r.Type, quote([]byte(a.line)))
	}
	if a.Error == Unknown {
		return errors.New(a.Text)
	}
	if known := errorOf(a.Error); known != nil {
		return fmt.Errorf("%w (%s)", known, a.Text)
	}
	return o.of.misbehaves("answers with the error %q, the words are %s: %s",
		a.Error, allWords(), quote([]byte(a.line)))
}

// attempt is one of the requests that may be granted.
func (o *owner) attempt(ctx context.Context, what string) (bool, error) {
	r := Request{Type: what, Owner: o.name}
	a, err := o.of.ask(ctx, r)
	if err != nil {
		return false, err
	}
	waits := what == Lock || what == ReadLock
	switch {
	case a.Type == Granted:
		o.grant, o.token = a.ID, a.Token
		return true, nil
	case a.Type == Refused && !waits:
		return false, nil
	}
	return false, o.unexpected(r, a)
}

func (o *owner) give(ctx context.Context, what string) error {
	r := Request{Type: what, Owner: o.name}
	a, err := o.of.ask(ctx, r)
	if err == nil && a.Type != OK {
		err = o.unexpected(r, a)
	}
	return err
}

func (o *owner) TryLock(ctx context.Context) (bool, error) {
	return o.attempt(ctx, TryLock)
}

func (o *owner) Lock(ctx context.Context) error {
	_, err := o.attempt(ctx, Lock)
	return err
}

func (o *owner) Unlock(ctx context.Context) error { return o.give(ctx, Unlock) }

// offering is the owner with the methods of what the program offers.
func (o *owner) offering(p *Program) lock.Lock {
	l, f, r := notifier{o}, fenced{o}, reading{o}
	type feature struct{ tells, fences, reads bool }
	switch (feature{p.Offers(LossNotices), p.Offers(Fencing), p.Offers(ReadWrite)}) {
	case feature{tells: true}:
		return struct {
			*owner
			notifier
		}{o, l}
	case feature{fences: true}:
		return struct {
			*owner
			fenced
		}{o, f}
	case feature{reads: true}:
		return struct {
			*owner
			reading
		}{o, r}
	case feature{tells: true, fences: true}:
		return struct {
			*owner
			notifier
			fenced
		}{o, l, f}
	case feature{tells: true, reads: true}:
		return struct {
			*owner
			notifier
			reading
		}{o, l, r}
	case feature{fences: true, reads: true}:
		return struct {
			*owner
			fenced
			reading
		}{o, f, r}
	case feature{tells: true, fences: true, reads: true}:
		return struct {
			*owner
			notifier
			fenced
			reading
		}{o, l, f, r}
	}
	return o
}

type notifier struct{ of *owner }

// Lost is closed when the program says that the newest grant is lost.
func (l notifier) Lost() <-chan struct{} {
	c := l.of.of
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost[l.of.grant]
}

type fenced struct{ of *owner }

func (f fenced) Token() uint64 { return f.of.token }

type reading struct{ of *owner }

func (r reading) TryRLock(ctx context.Context) (bool, error) {
	return r.of.attempt(ctx, TryReadLock)
}

func (r reading) RLock(ctx context.Context) error {
	_, err := r.of.attempt(ctx, ReadLock)
	return err
}

func (r reading) RUnlock(ctx context.Context) error {
	return r.of.give(ctx, ReadUnlock)
}
