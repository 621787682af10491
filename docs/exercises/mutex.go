package exercises

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Service is one process of several. Its mutex is its own.
type Service struct {
	mutex chan struct{} // holds one element while it is locked
}

// NewService starts a process.
func NewService() *Service {
	return &Service{mutex: make(chan struct{}, 1)}
}

// Mutex is the lock of a request that a service handles.
type Mutex struct {
	service *Service
	rdb     redis.UniversalClient
	key     string
}

var _ lock.Lock = (*Mutex)(nil)

// NewMutex makes the lock of one request. Redis only gets a mark, which shows
// in a timeline when the lock is taken and given back. No client reads it.
func (s *Service) NewMutex(rdb redis.UniversalClient, key string) *Mutex {
	return &Mutex{service: s, rdb: rdb, key: key}
}

// TryLock excludes the clients of its own process, and no others.
func (m *Mutex) TryLock(ctx context.Context) (bool, error) {
	select {
	case m.service.mutex <- struct{}{}:
		return true, m.rdb.Set(ctx, m.key, "mark", 0).Err()
	default:
		return false, nil
	}
}

// Lock waits for the others in the same process.
func (m *Mutex) Lock(ctx context.Context) error {
	select {
	case m.service.mutex <- struct{}{}:
		return m.rdb.Set(ctx, m.key, "mark", 0).Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock lets in the process's next client.
func (m *Mutex) Unlock(ctx context.Context) error {
	defer func() { <-m.service.mutex }()
	return m.rdb.Del(ctx, m.key).Err()
}
