package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Setting is what a node on a real server must know of its scenario.
type Setting struct {
	Context context.Context
	Key     string              // in the names of all keys that it leaves
	Took    func(time.Duration) // is told how long the server took to answer
}

// On makes the node that a real server is.
func On(s Server, setting Setting) Node {
	b := &borrowed{setting: setting, server: s}
	if store, ok := s.(Store); ok {
		return &stored{borrowed: b, store: store}
	}
	return &remote{borrowed: b, observer: newObserver(s)}
}

// Disposable says whether scenarios may kill, stop and flush a server.
func Disposable(s Server) bool {
	switch s.(type) {
	case OwnServer, OwnStore:
		return true
	}
	return false
}

// borrowed is what nodes on real servers have in common.
type borrowed struct {
	setting Setting
	server  Server
	down    atomic.Bool // it was killed
	stopped atomic.Bool // it was paused
}

// away says whether the server can't answer.
func (b *borrowed) away() bool { return b.down.Load() || b.stopped.Load() }

// host is the server, of whatever kind, that may be killed and stopped.
func (b *borrowed) host() host { return b.server.(host) }

// Lasts is Node's. It is known without asking: only its expiry, or a command that
// was seen, ends a key.
func (b *borrowed) Lasts(_ string, seen history.State) bool {
	return seen.Ends.IsZero() || time.Now().Before(seen.Ends)
}

func (b *borrowed) Restart(cut func()) error {
	b.host().Kill()
	cut()
	return failed("restart", b.host().Restart())
}

func (b *borrowed) Refuse(refusing bool) error {
	b.down.Store(refusing)
	if refusing {
		b.host().Kill()
		return nil
	}
	return failed("restart", b.host().Restart())
}

func (b *borrowed) Hang() error {
	b.stopped.Store(true)
	return failed("pause", b.host().Pause())
}

func (b *borrowed) Replicate() error {
	if own, ok := b.server.(OwnServer); ok {
		return failed("start a replica", own.Replicate())
	}
	return failed("start a replica", errors.ErrUnsupported)
}

func (b *borrowed) Promote(cut func()) error {
	defer cut()
	if own, ok := b.server.(OwnServer); ok {
		return failed("promote a replica", own.Promote())
	}
	return failed("promote a replica", errors.ErrUnsupported)
}

// wake brings the server back.
func (b *borrowed) wake() error {
	var resumed, restarted error
	if b.stopped.Load() {
		resumed = failed("resume", b.host().Resume())
	}
	if b.down.Load() {
		restarted = failed("restart", b.host().Restart())
	}
	return errors.Join(resumed, restarted)
}

// failed is an error with what was being done; nil when there is none.
func failed(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
