package zookeeper

import (
	"context"

	"github.com/google/uuid"
)

// Basic is one ephemeral node ([survey]). A release wakes everybody who waits.
type Basic struct {
	session *Session
	path    string
	name    string

	owner string // of the newest grant
	in    *link  // of the newest grant
	held  bool
	ready bool // the parent is there
}

// NewBasic makes an owner of the lock of that name. It sends nothing. A name
// belongs to one kind of lock: where a queue of that name has been, a Basic waits
// forever, because the queue's node stays.
func NewBasic(s *Session, name string) (*Basic, error) {
	if err := named(s, name); err != nil {
		return nil, err
	}
	return &Basic{session: s, name: name, path: root + "/" + name}, nil
}

// TryLock makes one attempt. When a reply is lost it asks again, until it knows
// or the session is lost. After an error no node remains, or one that is deleted
// as soon as a server answers, or goes with the session.
func (l *Basic) TryLock(ctx context.Context) (bool, error) {
	if l.held {
		return false, hasLocked(l.name)
	}
	granted, err := l.try(ctx)
	if err != nil {
		return false, l.session.failed(ctx, "acquire", l.name, err)
	}
	return granted, nil
}

func (l *Basic) try(ctx context.Context) (bool, error) {
	in, err := l.session.begun(ctx)
	if err != nil {
		return false, err
	}
	if !l.ready {
		if err := in.under(ctx, root); err != nil {
			return false, err
		}
		l.ready = true
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
	l.owner, l.in, l.held = owner, in, true
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
		if err != nil {
			return l.session.failed(ctx, "wait for", l.name, err)
		}
		gone, err := in.watch(ctx, l.path)
		if err != nil {
			return l.session.failed(ctx, "wait for", l.name, err)
		}
		select {
		case <-gone:
		case <-in.lost:
		case <-ctx.Done():
			return l.session.failed(ctx, "wait for", l.name, ctx.Err())
		}
	}
}

// Unlock deletes the node. It returns ErrNotHeld when this handle has not locked,
// or when its session was lost. It waits for at most one session timeout on a
// context of its own, through a short outage, too. After another error the node
// is deleted as soon as a server answers, or goes with the session.
func (l *Basic) Unlock(ctx context.Context) error {
	if !l.held {
		return notHeld(l.name)
	}
	l.held = false
	return l.session.unlock(ctx, l.in, l.name, l.path, l.owner)
}

// Lost is closed when the session of the newest grant is gone.
func (l *Basic) Lost() <-chan struct{} {
	if l.in == nil {
		return nil
	}
	return l.in.lost
}
