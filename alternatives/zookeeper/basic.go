package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/lockladder/lockladder/scenarios"
)

// Basic is one ephemeral node (seeds/001). A release wakes everybody who waits.
type Basic struct {
	session *Session
	path    string
	name    string

	owner string        // of the newest request that may have made the node
	lost  chan struct{} // of the newest grant
	held  bool
	ready bool // the parent is there
}

// NewBasic makes an owner of the lock of that name. It sends nothing. A name
// belongs to one kind of lock: where a queue of that name has been, a Basic waits
// for ever, because the queue's node stays.
func NewBasic(s *Session, name string) (*Basic, error) {
	if err := named(s, name); err != nil {
		return nil, err
	}
	return &Basic{session: s, name: name, path: root + "/" + name}, nil
}

// TryLock makes one attempt. (false, err) means unknown; asking again finds the
// node that one has made.
func (l *Basic) TryLock(ctx context.Context) (bool, error) {
	granted, err := l.try(ctx)
	if err != nil {
		return false, l.session.failed(ctx, "acquire", l.name, err)
	}
	return granted, nil
}

func (l *Basic) try(ctx context.Context) (bool, error) {
	if l.held {
		return false, errors.New("this handle has locked: unlock it first")
	}
	if !l.ready {
		if err := l.session.under(ctx, root); err != nil {
			return false, err
		}
		l.ready = true
	}
	if l.owner == "" {
		l.owner = uuid.NewString()
	}
	lost, owner := l.session.current(), l.owner
	_, err := ask(ctx, func() (string, error) {
		return l.session.conn.Create(l.path, []byte(owner), zk.FlagEphemeral,
			zk.WorldACL(zk.PermAll))
	}, func(_ string, err error) {
		if err == nil { // nobody waits for it any more
			l.session.conn.Delete(l.path, -1)
		}
	})
	if errors.Is(err, zk.ErrNodeExists) {
		var mine bool
		if mine, err = l.mine(ctx); err != nil || !mine {
			return false, err
		}
	} else if err != nil {
		if ctx.Err() != nil {
			l.owner = "" // it is deleted as soon as it is answered
		}
		return false, err
	}
	if isClosed(lost) {
		return false, nil // the session was lost on the way
	}
	l.lost, l.held = lost, true
	return true, nil
}

// mine says whether the node is what an unanswered request has made.
func (l *Basic) mine(ctx context.Context) (bool, error) {
	data, err := ask(ctx, func() ([]byte, error) {
		data, _, err := l.session.conn.Get(l.path)
		return data, err
	}, nil)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return string(data) == l.owner, err
}

// Lock tries, and again whenever the node has gone, until it is granted or ctx
// ends.
func (l *Basic) Lock(ctx context.Context) error {
	for {
		granted, err := l.TryLock(ctx)
		if granted || err != nil {
			return err
		}
		gone, err := l.session.watch(ctx, l.path)
		if err != nil {
			return l.session.failed(ctx, "wait for", l.name, err)
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return l.session.failed(ctx, "wait for", l.name, ctx.Err())
		}
	}
}

// Unlock deletes the node. It returns ErrNotHeld when this handle has not locked,
// or when its session was lost.
func (l *Basic) Unlock(ctx context.Context) error {
	if !l.held || isClosed(l.lost) {
		l.held, l.owner = false, ""
		return fmt.Errorf("release %q: %w", l.name, scenarios.ErrNotHeld)
	}
	err := l.session.remove(ctx, l.path, l.mine)
	l.held, l.owner = false, ""
	if errors.Is(err, zk.ErrNoNode) {
		err = scenarios.ErrNotHeld
	}
	if err != nil {
		return l.session.failed(ctx, "release", l.name, err)
	}
	return nil
}

// Lost is closed when the session of the newest grant is gone.
func (l *Basic) Lost() <-chan struct{} { return l.lost }

// watch returns what is closed, or has an element, when a node has changed; at
// once when it is not there.
func (s *Session) watch(ctx context.Context, path string) (<-chan zk.Event,
	error) {
	return ask(ctx, func() (<-chan zk.Event, error) {
		there, _, events, err := s.conn.ExistsW(path)
		if err == nil && !there {
			done := make(chan zk.Event)
			close(done)
			return done, nil
		}
		return events, err
	}, nil)
}
