package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
)

const (
	// tryLease is the lease, and tryDeadline the deadline, of the locks with which
	// a program is tried out.
	tryLease    = 10 * time.Second
	tryDeadline = 500 * time.Millisecond
)

// try starts the program once and finds out whether it speaks the protocol, where
// nothing goes wrong.
func (p *Program) try(ctx context.Context, server *redis.Options) error {
	rdb := redis.NewClient(server)
	defer rdb.Close()
	c, err := p.start()
	if err != nil {
		return err
	}
	defer c.kill()
	defer context.AfterFunc(ctx, c.kill)() // an answer may take a minute
	node := Node{Address: server.Addr, User: server.Username,
		Password: server.Password}
	// A lock on several servers is tried out when the scenarios begin.
	if p.hello, err = c.hello([]Node{node}); err != nil {
		return err
	}
	if p.Nodes() == 1 {
		if err := c.rehearse(ctx, rdb); err != nil {
			return err
		}
	}
	return c.leaves()
}

// rehearse lets two owners meet.
func (c *conversation) rehearse(ctx context.Context, rdb *redis.Client) error {
	name := "lockladder:" + uuid.NewString()[:8] + ":try"
	var owners []lock.Lock
	for _, key := range []string{name, name, name + ":another"} {
		l, err := c.build(lock.Env{Nodes: []redis.UniversalClient{rdb}, TTL: tryLease, Key: key})
		if err != nil {
			return err
		}
		defer rdb.Del(context.WithoutCancel(ctx), c.program.allKeys(key)...)
		owners = append(owners, l)
	}
	a, b, other := owners[0], owners[1], owners[2]
	hello := c.program.patience.hello
	tries := func(l lock.Lock, want bool, otherwise string) error {
		ctx, cancel := context.WithTimeout(ctx, hello)
		defer cancel()
		if granted, err := l.TryLock(ctx); err != nil || granted != want {
			return c.complain(otherwise, err)
		}
		return nil
	}
	releases := func(l lock.Lock) error {
		ctx, cancel := context.WithTimeout(ctx, hello)
		defer cancel()
		if err := l.Unlock(ctx); err != nil {
			return c.complain("doesn't release a lock that it has", err)
		}
		return nil
	}
	for _, step := range []func() error{
		func() error { return tries(a, true, "doesn't get a free lock") },
		func() error {
			return tries(b, false, "should refuse a second owner what the first one has")
		},
		func() error { return c.keepsDeadline(ctx, b) },
		func() error {
			return tries(other, true, "refuses the lock of one name while another's is"+
				" held: it must lock the \"key\" of its \"build\"")
		},
		func() error { return c.keyIsThere(ctx, rdb, name) },
		func() error { return releases(other) },
		func() error { return releases(a) },
		func() error { return tries(b, true, "doesn't get a lock that was released") },
		func() error { return releases(b) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// keepsDeadline lets an owner wait for a lock that another one has.
func (c *conversation) keepsDeadline(ctx context.Context, waiter lock.Lock) error {
	began := time.Now() // before the deadline is set: an answer that never comes is late, too
	ctx, cancel := context.WithTimeout(ctx, tryDeadline)
	defer cancel()
	err := waiter.Lock(ctx)
	if took := time.Since(began); took > tryDeadline+c.program.patience.tried {
		return c.complain(fmt.Sprintf("ignores the deadline: it answers \"lock\" after %v"+
			" instead of %v", took.Round(time.Millisecond), tryDeadline), nil)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return c.complain("should answer \"lock\" with the error \"deadline\" while"+
			" another owner has the lock", err)
	}
	return nil
}

// keyIsThere looks for the key by which the scenarios know the holder of a lock.
func (c *conversation) keyIsThere(ctx context.Context, rdb *redis.Client,
	name string) error {
	key := c.program.Keys(name)[0]
	there, err := rdb.Exists(ctx, key).Result()
	if err != nil {
		return fmt.Errorf("look for the key %s: %w", key, err)
	}
	if there == 0 {
		return c.complain(fmt.Sprintf("grants the lock, and the server has no key %q:"+
			" \"keys\" in its hello must name the keys of the lock, with %s for its name",
			key, KeyOf), nil)
	}
	return nil
}

// complain is the error of a program whose lock doesn't work where nothing goes
// wrong, or which doesn't answer.
func (c *conversation) complain(what string, err error) error {
	if errors.Is(err, ErrMisbehaves) {
		return err
	}
	if err != nil {
		what = fmt.Sprintf("%s: %v", what, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return c.misbehaves("%s%s", what, c.errors.last())
	}
	return fmt.Errorf("%w: %s %s%s", ErrUnfit, c.program.Name(), what, c.errors.last())
}

// leaves ends the program's input and waits for its end.
func (c *conversation) leaves() error {
	c.mu.Lock()
	lines := c.lines
	c.ended = true // its output and its end are checked here
	c.mu.Unlock()
	c.in.Close()
	select {
	case <-c.gone:
	case <-time.After(c.program.patience.ends):
		return fmt.Errorf("%w: %s still runs %v after the end of its input",
			ErrMisbehaves, c.program.Name(), c.program.patience.ends)
	}
	if process.Offspring(c.cmd.Process.Pid) {
		return fmt.Errorf("%w: %s has ended, and a process that it has started still"+
			" runs%s", ErrMisbehaves, c.program.Name(), c.errors.last())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines > lines {
		return fmt.Errorf("%w: %s writes after the end of its input", ErrMisbehaves, c.program.Name())
	}
	return nil
}
