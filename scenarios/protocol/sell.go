package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// MostSections is how many critical sections a workload may have: the answer is a line.
const MostSections = 2000

// Workload is a stock that a program sells by itself, for a benchmark: many owners, and each of
// them takes the lock, reads the stock, takes one if there is any, and releases.
type Workload struct {
	Stock  string // its key, on the first node
	Owners int    // they start at one instant
	Turns  int    // of each owner
	Poll   time.Duration
}

// Sell has the program sell a stock behind its lock, in a process of its own that
// ends then. It returns the answer sold. When ctx ends, the process is killed; the
// lock may be held then. Errors wrap ErrMisbehaves, or say what the program has said.
func (p *Program) Sell(ctx context.Context, env lock.Env, w Workload) (Answer, error) {
	if w.Owners*w.Turns > MostSections {
		return Answer{}, fmt.Errorf("%w: %d owners with %d turns are more than %d"+
			" sections", lock.ErrInvalid, w.Owners, w.Turns, MostSections)
	}
	env.Process = new(int) // like no other one
	c, err := p.process(env)
	if err != nil {
		return Answer{}, err
	}
	defer func() {
		c.kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.processes, env.Process)
	}()
	defer context.AfterFunc(ctx, c.kill)()
	a, err := c.ask(context.WithoutCancel(ctx), Request{Type: Sell, Key: env.Key,
		Lease: env.TTL.Milliseconds(), Poll: w.Poll.Milliseconds(), Stock: w.Stock,
		Owners: w.Owners, Turns: w.Turns})
	switch {
	case err != nil && ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case err != nil:
		return Answer{}, err
	case a.Type == Error:
		return Answer{}, fmt.Errorf("the program can't sell: %s", a.Text)
	case a.Type != Sold:
		return Answer{}, c.misbehaves("answers sell with %q, it must answer with"+
			" \"type\":\"sold\"", a.line)
	}
	return a, nil
}

// sell is Sell at the other end.
func (s *server) sell(r Request) Answer {
	a := Answer{ID: r.ID, Type: Sold}
	var mu sync.Mutex
	var customers, ready sync.WaitGroup
	open := make(chan struct{})
	var began time.Time
	var locks []lock.Lock
	for range r.Owners {
		l, err := s.owner(r)
		if err != nil {
			return failed(r.ID, err)
		}
		locks = append(locks, l)
	}
	for _, l := range locks {
		ready.Add(1)
		customers.Go(func() {
			_ = s.nodes[0].Ping(context.Background()) // connects; buying says if not
			ready.Done()
			<-open
			for range r.Turns {
				one, err := s.buy(l, r.Stock, began)
				mu.Lock()
				if err != nil {
					a.Failures++
					a.Text = cmp.Or(a.Text, err.Error())
				} else {
					a.Sections = append(a.Sections, one.times)
					a.Bought.Add(one.Bought)
				}
				mu.Unlock()
			}
		})
	}
	ready.Wait()
	began = time.Now()
	close(open)
	customers.Wait()
	return a
}

// Bought is what clients have taken from a stock.
type Bought struct {
	Taken       int64 `json:"taken,omitempty"`
	LostUpdates int64 `json:"lost_updates,omitempty"` // the stock changed before the taking
}

// Add adds what others have taken.
func (b *Bought) Add(others Bought) {
	b.Taken += others.Taken
	b.LostUpdates += others.LostUpdates
}

// Take reads a stock in Redis, and takes one if there is any. It calls between, if that
// isn't nil, between the two.
func (b *Bought) Take(ctx context.Context, rdb redis.UniversalClient, stock string,
	between func()) error {
	left, err := rdb.Get(ctx, stock).Int64()
	if err != nil {
		return lock.Failed(ctx, "read", stock, err)
	}
	if between != nil {
		between()
	}
	if left <= 0 {
		return nil
	}
	after, err := rdb.Decr(ctx, stock).Result()
	if err != nil {
		return lock.Failed(ctx, "take from", stock, err)
	}
	b.Taken++
	if after != left-1 {
		b.LostUpdates++
	}
	return nil
}

// turn is what an owner has done once.
type turn struct {
	times [3]int64
	Bought
}

// buy takes one turn.
func (s *server) buy(l lock.Lock, stock string, began time.Time) (t turn, err error) {
	ctx := context.Background()
	now := func() int64 { return time.Since(began).Microseconds() }
	t.times[0] = now()
	if err := l.Lock(ctx); err != nil {
		return t, err
	}
	t.times[1] = now()
	defer func() {
		t.times[2] = now()
		err = errors.Join(err, l.Unlock(ctx))
	}()
	return t, t.Take(ctx, s.nodes[0], stock, nil)
}
