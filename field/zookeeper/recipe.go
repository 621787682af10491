package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockladder/lockladder/lock"
)

// Recipe is the code that [survey] prints, an exhibit. It queues as
// Sequential does. But it waits only once, for at most a session timeout, does
// not look at whether the wait has ended or run out of time, and takes any end of
// it for its turn. Two hold the lock when a holder works longer than that, and
// when somebody in the queue gives up. It neither ends with a context nor tells
// of a loss.
type Recipe struct {
	session *Session
	name    string
	node    string
	in      *link // the node's
}

// NewRecipe makes an owner of the lock of that name. It sends nothing.
func NewRecipe(s *Session, name string) (*Recipe, error) {
	if err := named(s, name); err != nil {
		return nil, err
	}
	return &Recipe{session: s, name: name}, nil
}

// TryLock makes a node and is granted when that is the smallest. A node that is
// not the smallest stays in the queue.
func (l *Recipe) TryLock(ctx context.Context) (bool, error) {
	before, err := l.queue(ctx)
	if err != nil {
		return false, l.session.failed(ctx, "acquire", l.name, err)
	}
	return before == "", nil
}

// Lock is TryLock, and then waits once.
func (l *Recipe) Lock(ctx context.Context) error {
	before, err := l.queue(ctx)
	if err != nil {
		return l.session.failed(ctx, "acquire", l.name, err)
	}
	if before == "" {
		return nil
	}
	events, err := l.in.watch(ctx, root+"/"+before)
	if err != nil {
		return l.session.failed(ctx, "wait for", l.name, err)
	}
	select {
	case <-events:
	case <-time.After(l.session.timeout):
		// The recipe does not ask which it was. Nor whether others are before
		// the one that has gone.
	}
	return nil
}

func (l *Recipe) queue(ctx context.Context) (before string, err error) {
	in, err := l.session.begun(ctx)
	if err != nil {
		return "", err
	}
	if err := in.under(ctx, root); err != nil {
		return "", err
	}
	const between = "_lock_"
	path, err := ask(ctx, in, func() (string, error) {
		return in.conn.Create(root+"/"+l.name+between, nil,
			zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	}, nil)
	if err != nil {
		return "", err
	}
	l.node, l.in = path, in
	nodes, err := in.children(ctx, root)
	if err != nil {
		return "", err
	}
	nodes = slices.DeleteFunc(nodes, func(node string) bool {
		return !strings.HasPrefix(node, l.name+between)
	})
	slices.Sort(nodes)
	if i := slices.Index(nodes, strings.TrimPrefix(path, root+"/")); i > 0 {
		return nodes[i-1], nil
	}
	return "", nil
}

// Unlock deletes the handle's node, whether it was its turn or not.
func (l *Recipe) Unlock(ctx context.Context) error {
	if l.node == "" {
		return lock.Failed(ctx, "release", l.name, lock.ErrNotHeld)
	}
	path := l.node
	l.node = ""
	err := l.in.wait(ctx, func() error { return l.in.conn.Delete(path, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return l.session.failed(ctx, "release", l.name, err)
	}
	return nil
}
