package serverstest

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/lockladder/lockladder/internal/lab"
)

// Limited lends servers to so many scenarios at a time: they mostly wait, but what
// they start, such as a program in another language, may take long to start.
func Limited(pool lab.Pool, scenarios int64) lab.Pool {
	return limited{pool, semaphore.NewWeighted(scenarios)}
}

type limited struct {
	lab.Pool
	room *semaphore.Weighted
}

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
