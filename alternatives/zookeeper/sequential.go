package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockladder/lockladder/scenarios"
)

// Sequential is a queue of ephemeral nodes (seeds/001, and ZooKeeper's page of
// recipes): the smallest number has the lock, and everybody watches the node
// before its own. A release wakes one, in the order of arrival.
type Sequential struct {
	session *Session
	path    string
	name    string

	node  string        // of the newest grant; "" when nothing is held
	token uint64        // of the newest grant
	lost  chan struct{} // of the newest grant
	ready bool          // the parent is there
}

// NewSequential makes an owner of the lock of that name. It sends nothing. Its
// queue is a node of that name, which stays: a Basic needs another name.
func NewSequential(s *Session, name string) (*Sequential, error) {
	if err := named(s, name); err != nil {
		return nil, err
	}
	return &Sequential{session: s, name: name, path: root + "/" + name}, nil
}

// TryLock makes one attempt: who is not the first leaves the queue again. After
// an error nothing remains, or nothing longer than the session.
func (l *Sequential) TryLock(ctx context.Context) (bool, error) {
	granted, err := l.queue(ctx, false)
	if err != nil {
		return false, l.session.failed(ctx, "acquire", l.name, err)
	}
	return granted, nil
}

// Lock waits in the queue until it is the first one, or ctx ends.
func (l *Sequential) Lock(ctx context.Context) error {
	for {
		granted, err := l.queue(ctx, true)
		if err != nil {
			return l.session.failed(ctx, "acquire", l.name, err)
		}
		if granted {
			return nil
		}
	}
}

// queue makes a node and waits, if it may, until it is the smallest. It is false
// when it may not wait, or when the session was lost on the way.
func (l *Sequential) queue(ctx context.Context, wait bool) (granted bool,
	err error) {
	if l.node != "" {
		return false, errors.New("this handle has locked: unlock it first")
	}
	if !l.ready {
		if err := l.session.under(ctx, l.path); err != nil {
			return false, err
		}
		l.ready = true
	}
	lost := l.session.current()
	// Protected: when the reply is lost, the driver looks whether the node is
	// there before it makes another, which would wait for the first.
	path, err := ask(ctx, func() (string, error) {
		return l.session.conn.CreateProtectedEphemeralSequential(
			l.path+"/lock-", nil, zk.WorldACL(zk.PermAll))
	}, func(path string, err error) {
		if err == nil { // nobody waits for it any more
			l.session.conn.Delete(path, -1)
		}
	})
	if err != nil {
		return false, err
	}
	node := path[strings.LastIndexByte(path, '/')+1:]
	defer func() {
		if !granted {
			// Whatever happens to this goes with the session.
			l.session.remove(ctx, path, nil)
		}
	}()
	for {
		before, err := l.before(ctx, node)
		switch {
		case err != nil:
			return false, err
		case isClosed(lost), before == gone:
			return false, nil
		case before == "":
			l.node, l.lost, l.token = path, lost, number(node)+1
			return true, nil
		case !wait:
			return false, nil
		}
		// When it is woken it looks again: the one before may have given up, and
		// others are before that.
		events, err := l.session.watch(ctx, l.path+"/"+before)
		if err != nil {
			return false, err
		}
		select {
		case <-events:
		case <-lost:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// gone is what before says when one's own node is not there.
const gone = "gone"

// before is the node right before one's own in the queue; "" for the first.
func (l *Sequential) before(ctx context.Context, node string) (string, error) {
	nodes, err := ask(ctx, func() ([]string, error) {
		nodes, _, err := l.session.conn.Children(l.path)
		return nodes, err
	}, nil)
	if err != nil {
		return "", err
	}
	slices.SortFunc(nodes, func(a, b string) int {
		return int(number(a)) - int(number(b))
	})
	switch i := slices.Index(nodes, node); {
	case i < 0:
		return gone, nil
	case i > 0:
		return nodes[i-1], nil
	}
	return "", nil
}

// number is the number that the servers gave a node: its last ten digits.
func number(node string) uint64 {
	n, err := strconv.ParseUint(node[max(len(node)-10, 0):], 10, 64)
	if err != nil {
		return 0 // somebody else's node
	}
	return n
}

// Unlock deletes the node. It returns ErrNotHeld when this handle has not locked,
// or when its session was lost.
func (l *Sequential) Unlock(ctx context.Context) error {
	path := l.node
	l.node = ""
	if path == "" || isClosed(l.lost) {
		return fmt.Errorf("release %q: %w", l.name, scenarios.ErrNotHeld)
	}
	err := l.session.remove(ctx, path, nil)
	if errors.Is(err, zk.ErrNoNode) {
		err = scenarios.ErrNotHeld
	}
	if err != nil {
		return l.session.failed(ctx, "release", l.name, err)
	}
	return nil
}

// Token is the number of the newest grant's node, counted from 1: it rises as
// long as nobody removes the lock's parent node. It is 0 before the first grant.
func (l *Sequential) Token() uint64 { return l.token }

// Lost is closed when the session of the newest grant is gone.
func (l *Sequential) Lost() <-chan struct{} { return l.lost }
