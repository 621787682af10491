package lab

import (
	"context"

	"github.com/lockladder/lockladder/lock"
)

// What a lock may offer besides, as a caller takes it who doesn't know which lock it is.

// ReadSide is a lock as its readers call it.
type ReadSide struct{ Of lock.ReadWrite }

func (r ReadSide) Lock(ctx context.Context) error            { return r.Of.RLock(ctx) }
func (r ReadSide) TryLock(ctx context.Context) (bool, error) { return r.Of.TryRLock(ctx) }
func (r ReadSide) Unlock(ctx context.Context) error          { return r.Of.RUnlock(ctx) }

// Lost is the channel of the lock's newest grant, nil of a lock that tells no loss.
func Lost(l lock.Lock) <-chan struct{} {
	if l, ok := l.(lock.LossNotifier); ok {
		return l.Lost()
	}
	return nil
}

// Token is the fencing token of the newest grant, 0 of a lock that has none.
func Token(l lock.Lock) uint64 {
	if l, ok := l.(lock.Fenced); ok {
		return l.Token()
	}
	return 0
}
