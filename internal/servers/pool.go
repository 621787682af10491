package servers

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/lockladder/lockladder/internal/lab"
)

// atOnce is how many servers are in use at a time. The scenarios mostly wait:
// two processors are busy for half of the time with so many.
const atOnce = 48

// pool lends servers to scenarios that run at the same time.
type pool struct {
	most  int                 // how many may be in use
	room  *semaphore.Weighted // counts servers in use
	start func() (lab.Server, error)
	idle  chan lab.Server // nobody uses them now
}

// Borrow waits until so many servers are free.
func (p *pool) Borrow(ctx context.Context, n int) ([]lab.Server, error) {
	if n > p.most {
		return nil, fmt.Errorf("%d servers are too many: %d can be started", n, p.most)
	}
	if err := p.room.Acquire(ctx, int64(n)); err != nil {
		return nil, fmt.Errorf("wait for %d servers: %w", n, err)
	}
	var lent []lab.Server
	for range n {
		s, err := p.one()
		if err != nil {
			p.Return(lent)
			p.room.Release(int64(n - len(lent)))
			return nil, err
		}
		lent = append(lent, s)
	}
	return lent, nil
}

func (p *pool) one() (lab.Server, error) {
	select {
	case s := <-p.idle:
		return s, nil
	default:
		return p.start()
	}
}

// Return gives them back.
func (p *pool) Return(lent []lab.Server) {
	for _, s := range lent {
		p.idle <- s // there is room: no more are started than may be in use
	}
	p.room.Release(int64(len(lent)))
}

// Limited lends servers to so many scenarios at a time: they mostly wait, but what
// they start, such as a program in another language, may take long to start.
// Its keys have the name of the pool's, by which the sweeper knows them, or a new one.
func Limited(pool lab.Pool, scenarios int64) lab.NamedPool {
	l := limited{pool, semaphore.NewWeighted(scenarios), RunName()}
	if pool, ok := pool.(lab.NamedPool); ok {
		l.run = pool.Run()
	}
	return l
}

type limited struct {
	lab.Pool
	room *semaphore.Weighted
	run  string
}

func (l limited) Run() string { return l.run }

func (l limited) Borrow(ctx context.Context, n int) ([]lab.Server, error) {
	if err := l.room.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a turn: %w", err)
	}
	lent, err := l.Pool.Borrow(ctx, n)
	if err != nil {
		l.room.Release(1)
	}
	return lent, err
}

func (l limited) Return(lent []lab.Server) {
	l.Pool.Return(lent)
	l.room.Release(1)
}

// Asked are the servers that are asked for. Started ones end with the test. A server
// that can't be had fails the test at once, in one line that never shows a
// password.
func Asked(t *testing.T, asked string) lab.Pool {
	t.Helper()
	all, end, err := Lend(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return all
}

// Lend is Asked without a test. End stops what was started, and tidies up what was
// borrowed; its error says what could not be removed.
func Lend(ctx context.Context, asked string) (all lab.Pool, end func() error,
	err error) {
	if asked != Auto {
		return borrow(ctx, asked)
	}
	if err := Installed(); err != nil {
		return nil, nil, fmt.Errorf("real servers are asked for, and %w", err)
	}
	var mu sync.Mutex
	var started []*Redis
	return Stores(atOnce, func() (lab.Server, error) {
			s, err := StartRedis(context.Background())
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, s)
			return s, nil
		}), func() error {
			mu.Lock()
			defer mu.Unlock()
			StopAll(started)
			return nil
		}, nil
}

// Stores are servers of another kind, so many at a time; start starts one.
func Stores(atOnce int, start func() (lab.Server, error)) lab.Pool {
	return &pool{most: atOnce, room: semaphore.NewWeighted(int64(atOnce)), start: start,
		idle: make(chan lab.Server, atOnce)}
}

// Shared lends the same servers to everybody, and starts one that is missing.
type Shared struct {
	Start func() (lab.Server, error)

	mu  sync.Mutex
	all []lab.Server
}

// Borrow lends the first n servers.
func (p *Shared) Borrow(_ context.Context, n int) ([]lab.Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.all) < n {
		s, err := p.Start()
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, s)
	}
	return p.all[:n:n], nil
}

// Return does nothing.
func (p *Shared) Return([]lab.Server) {}
