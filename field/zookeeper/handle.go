package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/lockladder/lockladder/lock"
)

// handle is what Basic and Sequential share: what an owner holds, and in which session.
type handle struct {
	session *Session
	name    string
	path    string // the lock's own node, or that of its queue

	node  string // of the newest grant; "" when nothing is held
	owner string // what that node says, where it may be another's
	in    *link  // of the newest grant
	ready bool   // the parent is there
}

// newHandle makes what an owner of the lock of that name begins with.
func newHandle(s *Session, name string) (handle, error) {
	if err := named(s, name); err != nil {
		return handle{}, err
	}
	return handle{session: s, name: name, path: root + "/" + name}, nil
}

// begun is Session.begun, and the parent of the lock's nodes is there.
func (h *handle) begun(ctx context.Context, parent string) (*link, error) {
	in, err := h.session.begun(ctx)
	if err == nil && !h.ready {
		err = in.under(ctx, parent)
		h.ready = err == nil
	}
	return in, err
}

// attempt asks for a grant, unless there is one already.
func (h *handle) attempt(ctx context.Context,
	try func(context.Context) (bool, error)) (bool, error) {
	if h.node != "" {
		return false, fmt.Errorf("acquire %q: this handle has locked: unlock it first", h.name)
	}
	granted, err := try(ctx)
	if err != nil {
		return false, h.session.failed(ctx, "acquire", h.name, err)
	}
	return granted, nil
}

// Unlock deletes the node. It returns ErrNotHeld when this handle has not locked,
// or when its session was lost. It waits for at most one session timeout on a
// context of its own, through a short outage, too. After another error the node
// is deleted as soon as a server answers, or goes with the session.
func (h *handle) Unlock(ctx context.Context) error {
	node := h.node
	h.node = ""
	if node == "" || isClosed(h.in.lost) {
		return lock.Failed(ctx, "release", h.name, lock.ErrNotHeld)
	}
	err := h.in.release(ctx, node, h.owner)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), isClosed(h.in.lost):
		return lock.Failed(ctx, "release", h.name, lock.ErrNotHeld)
	}
	return h.session.failed(ctx, "release", h.name, err)
}

// Lost is closed when the session of the newest grant is gone.
func (h *handle) Lost() <-chan struct{} {
	if h.in == nil {
		return nil
	}
	return h.in.lost
}
