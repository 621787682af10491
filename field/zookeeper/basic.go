package zookeeper

import (
	"context"

	"github.com/google/uuid"
)

// Basic is one ephemeral node ([survey]). A release wakes everybody who waits.
type Basic struct{ handle }

// NewBasic makes an owner of the lock of that name. It sends nothing. A name
// belongs to one kind of lock: where a queue of that name has been, a Basic waits
// forever, because the queue's node stays.
func NewBasic(s *Session, name string) (*Basic, error) {
	h, err := newHandle(s, name)
	if err != nil {
		return nil, err
	}
	return &Basic{h}, nil
}

// TryLock makes one attempt. When a reply is lost it asks again, until it knows
// or the session is lost. After an error no node remains, or one that is deleted
// as soon as a server answers, or goes with the session.
func (l *Basic) TryLock(ctx context.Context) (bool, error) {
	return l.attempt(ctx, l.try)
}

func (l *Basic) try(ctx context.Context) (bool, error) {
	in, err := l.begun(ctx, root)
	if err != nil {
		return false, err
	}
	owner := uuid.NewString()
	made, err := ask(ctx, in, func() (bool, error) {
		return in.create(l.path, owner)
	}, func(made bool, _ error) {
		if made { // nobody waits for it any more
			in.drop(l.path, owner)
		}
	})
	if err != nil || !made {
		return false, err
	}
	if isClosed(in.lost) {
		return false, nil // the session was lost on the way
	}
	l.node, l.owner, l.in = l.path, owner, in
	return true, nil
}

// Lock tries, and again whenever the node has gone or the session was lost, until
// it is granted, ctx ends, or there is an error.
func (l *Basic) Lock(ctx context.Context) error {
	for {
		granted, err := l.TryLock(ctx)
		if granted || err != nil {
			return err
		}
		in, err := l.session.begun(ctx)
		if err == nil {
			err = in.changed(ctx, l.path)
		}
		if err != nil {
			return l.session.failed(ctx, "wait for", l.name, err)
		}
	}
}
