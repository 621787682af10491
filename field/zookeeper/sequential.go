package zookeeper

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Sequential is a queue of ephemeral nodes ([survey], and ZooKeeper's page of
// recipes): the smallest number has the lock, and everybody watches the node
// before its own. A release wakes one, in the order of arrival.
type Sequential struct {
	handle
	token uint64 // of the newest grant
}

// NewSequential makes an owner of the lock of that name. It sends nothing. Its
// queue is a node of that name, which stays: a Basic needs another name.
func NewSequential(s *Session, name string) (*Sequential, error) {
	h, err := newHandle(s, name)
	if err != nil {
		return nil, err
	}
	return &Sequential{handle: h}, nil
}

// TryLock makes one attempt: an owner that isn't the first leaves the queue
// again. After an error no node remains, or one that is deleted as soon as a
// server answers, or goes with the session. Until then others, and this owner, find
// the lock taken. The same holds for Lock.
func (l *Sequential) TryLock(ctx context.Context) (bool, error) {
	return l.attempt(ctx, func(ctx context.Context) (bool, error) {
		return l.queue(ctx, false)
	})
}

// Lock waits in the queue until it is the first one, ctx ends, or there is an
// error. When its session is lost it queues up again.
func (l *Sequential) Lock(ctx context.Context) error {
	for {
		granted, err := l.attempt(ctx, func(ctx context.Context) (bool, error) {
			return l.queue(ctx, true)
		})
		if granted || err != nil {
			return err
		}
	}
}

// queue makes a node and waits, if it may, until it is the smallest. It is false
// when it may not wait, or when the session was lost on the way.
func (l *Sequential) queue(ctx context.Context, wait bool) (granted bool, err error) {
	in, err := l.begun(ctx, l.path)
	if err != nil {
		return false, err
	}
	path, err := ask(ctx, in, func() (string, error) {
		return in.enqueue(l.path)
	}, func(path string, err error) {
		if err == nil { // nobody waits for it any more
			in.drop(path, "")
		}
	})
	if err != nil {
		return false, err
	}
	node := path[strings.LastIndexByte(path, '/')+1:]
	defer func() {
		if !granted {
			// It goes on when the caller's context has ended.
			in.wait(ctx, func() error { return in.drop(path, "") })
		}
	}()
	for {
		before, err := l.before(ctx, in, node)
		switch {
		case err != nil:
			return false, err
		case isClosed(in.lost), before == gone:
			return false, nil
		case before == "":
			l.node, l.in, l.token = path, in, number(node)+1
			return true, nil
		case !wait:
			return false, nil
		}
		// When it is woken it looks again: the one before may have given up, and
		// others are before that.
		if err := in.changed(ctx, l.path+"/"+before); err != nil {
			return false, err
		}
	}
}

// gone is what before says when one's own node is not there.
const gone = "gone"

// before is the node right before one's own in the queue; "" for the first.
func (l *Sequential) before(ctx context.Context, in *link, node string) (string, error) {
	nodes, err := in.children(ctx, l.path)
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

// Token is the number of the newest grant's node, counted from 1: it rises as
// long as nobody removes the lock's parent node. It is 0 before the first grant.
func (l *Sequential) Token() uint64 { return l.token }
