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

// build makes an owner in the program, as a lock with the features that the program offers.
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
	ctx, cancel := context.WithTimeout(context.Background(), c.program.patience.hello)
	defer cancel()
	a, err := c.ask(ctx, r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = c.misbehaves("has not answered \"build\" within %v", c.program.patience.hello)
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
	waits := what == Lock || what == ReadLock
	switch {
	case err != nil:
		return false, err
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

// Lost is closed when the program says that the newest grant is lost. It is nil where
// the program doesn't offer that.
func (o *owner) Lost() <-chan struct{} {
	if !o.of.program.Offers(LossNotices) {
		return nil
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	return o.of.lost[o.grant]
}

// offering is the owner with the methods of what the program offers.
func (o *owner) offering(p *Program) lock.Lock {
	fences, reads := p.Offers(Fencing), p.Offers(ReadWrite)
	switch {
	case fences && reads:
		return struct {
			*owner
			fenced
			reading
		}{o, fenced{o}, reading{o}}
	case fences:
		return struct {
			*owner
			fenced
		}{o, fenced{o}}
	case reads:
		return struct {
			*owner
			reading
		}{o, reading{o}}
	}
	return o
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
