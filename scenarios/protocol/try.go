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
	env := lock.Env{Nodes: []redis.UniversalClient{rdb}, TTL: tryLease,
		Key: "lockladder:" + uuid.NewString()[:8] + ":try"}
	a, err := c.build(env)
	if err != nil {
		return err
	}
	b, err := c.build(env)
	if err != nil {
		return err
	}
	another := env
	another.Key += ":another"
	other, err := c.build(another)
	if err != nil {
		return err
	}
	defer rdb.Del(context.WithoutCancel(ctx), append(c.program.allKeys(env.Key),
		c.program.allKeys(another.Key)...)...)
	within := func(d time.Duration, call func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return call(ctx)
	}
	var granted bool
	try := func(l lock.Lock) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			granted, err = l.TryLock(ctx)
			return err
		}
	}
	if err := within(c.program.patience.hello, try(a)); err != nil || !granted {
		return c.complain("doesn't get a free lock", err)
	}
	if err := within(c.program.patience.hello, try(b)); err != nil || granted {
		return c.complain("should refuse a second owner what the first one has", err)
	}
	began := time.Now()
	err = within(tryDeadline, b.Lock)
	if took := time.Since(began); took > tryDeadline+c.program.patience.tried {
		return c.misbehaves("ignores the deadline: it answers \"lock\" after %v"+
			" instead of %v", took.Round(time.Millisecond), tryDeadline)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return c.complain("should answer \"lock\" with the error \"deadline\" while"+
			" another owner has the lock", err)
	}
	if err := within(c.program.patience.hello, try(other)); err != nil || !granted {
		return c.complain("refuses the lock of one name while another's is held: it"+
			" must lock the \"key\" of its \"build\"", err)
	}
	if err := c.keyIsThere(ctx, rdb, env.Key); err != nil {
		return err
	}
	if err := within(c.program.patience.hello, other.Unlock); err != nil {
		return c.complain("doesn't release a lock that it has", err)
	}
	if err := within(c.program.patience.hello, a.Unlock); err != nil {
		return c.complain("doesn't release a lock that it has", err)
	}
	if err := within(c.program.patience.hello, try(b)); err != nil || !granted {
		return c.complain("doesn't get a lock that was released", err)
	}
	if err := within(c.program.patience.hello, b.Unlock); err != nil {
		return c.complain("doesn't release a lock that it has", err)
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
		return c.misbehaves("grants the lock, and the server has no key %q: \"keys\" in"+
			" its hello must name the keys of the lock, with %s for its name", key, KeyOf)
	}
	return nil
}

// complain is the error of a program whose lock doesn't work where nothing goes
// wrong.
func (c *conversation) complain(what string, err error) error {
	if errors.Is(err, ErrMisbehaves) {
		return err
	}
	if err != nil {
		what = fmt.Sprintf("%s: %v", what, err)
	}
	return c.misbehaves("%s%s", what, c.errors.last())
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
		return fmt.Errorf("%w: %s writes after the end of its input", ErrMisbehaves,
			c.program.Name())
	}
	return nil
}
