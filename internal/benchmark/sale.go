package benchmark

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lock"
)

// finishWithin is what is left, when a row has ended, to a client inside the
// critical section: it finishes the section and releases the lock.
const finishWithin = 10 * time.Second

// sale is one row under way: one stock, sold to all clients.
type sale struct {
	env      lock.Env // what locks are built with
	rdb      redis.UniversalClient
	stockKey string
	think    func(context.Context)

	started  time.Time
	turns    int // of all clients together
	holders  atomic.Int64
	most     atomic.Int64 // holders at one time
	sections atomic.Int64
	sold     atomic.Int64
	failures atomic.Int64
	asked    atomic.Int64 // attempts that were seen
	refused  atomic.Int64 // attempts that were refused

	mu     sync.Mutex // never held while Redis is asked
	waits  []time.Duration
	served []float64 // the sections of each client that is through
	cut    int       // clients that the end of the row cut off
	first  error     // the first failure
}

// turn is what each client does once. It returns errCut when the row ended
// before it got anywhere, and any other error for a failure.
type turn func(ctx context.Context) error

var errCut = errors.New("the row has ended")

// seating gives the i-th client its turn. It sends nothing.
type seating func(i int) (turn, error)

// detached is the context of what must be finished once it has begun.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
}

// behind is a turn behind a lock.
func (s *sale) behind(l lock.Lock) turn {
	return func(ctx context.Context) error {
		var seen attempts
		asked := time.Now()
		err := l.Lock(seen.watch(ctx))
		waited := time.Since(asked)
		s.count(&seen, err == nil)
		if err != nil && ctx.Err() != nil {
			return errCut
		}
		if err != nil {
			return err
		}
		err = s.section(ctx)
		s.wait(waited)

		ctx, cancel := detached(ctx)
		defer cancel()
		return errors.Join(err, l.Unlock(ctx))
	}
}

// section is the critical section: read the stock, and take one if there is any.
func (s *sale) section(ctx context.Context) error {
	now := s.holders.Add(1)
	defer s.holders.Add(-1)
	for most := s.most.Load(); now > most; most = s.most.Load() {
		s.most.CompareAndSwap(most, now)
	}
	own, cancel := detached(ctx)
	defer cancel()
	left, err := s.rdb.Get(own, s.stockKey).Int()
	if err != nil {
		return fmt.Errorf("read the stock: %w", told(own, err))
	}
	if s.think != nil {
		s.think(ctx)
	}
	if left > 0 {
		if err := s.rdb.Decr(own, s.stockKey).Err(); err != nil {
			return fmt.Errorf("take from the stock: %w", told(own, err))
		}
		s.sold.Add(1)
	}
	s.sections.Add(1)
	return nil
}

// count adds the attempts of one acquisition.
func (s *sale) count(seen *attempts, granted bool) {
	n := seen.count()
	s.asked.Add(n)
	if granted && n > 0 {
		n--
	}
	s.refused.Add(n)
}

func (s *sale) wait(waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, waited)
}

// client takes n turns, one after the other, until ctx ends.
func (s *sale) client(ctx context.Context, n int, take turn) {
	cut := false
	served := 0.0
	for range n {
		if cut = ctx.Err() != nil; cut {
			break
		}
		err := take(ctx)
		if cut = errors.Is(err, errCut); cut {
			break
		}
		if err != nil {
			s.fail(err)
			continue
		}
		served++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = append(s.served, served)
	if cut {
		s.cut++
	}
}

func (s *sale) fail(err error) {
	s.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
	}
}
