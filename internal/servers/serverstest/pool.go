package serverstest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
)

// atOnce is how many servers are in use at a time. The scenarios mostly wait:
// two processors are busy for half of the time with so many.
const atOnce = 48

// pool lends servers to scenarios that run at the same time.
type pool struct {
	most  int                 // how many may be in use
	room  *semaphore.Weighted // counts servers in use
	start func() (lab.Server, error)

	mu   sync.Mutex
	idle []lab.Server // nobody uses them now
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
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return p.start()
}

// Return gives them back.
func (p *pool) Return(lent []lab.Server) {
	p.mu.Lock()
	p.idle = append(p.idle, lent...)
	p.mu.Unlock()
	p.room.Release(int64(len(lent)))
}

// Limited lends servers to so many scenarios at a time: they mostly wait, but what
// they start, such as a program in another language, may take long to start.
func Limited(pool lab.Pool, scenarios int64) lab.Pool {
	limit := limited{pool, semaphore.NewWeighted(scenarios)}
	if pool, ok := pool.(lab.NamedPool); ok { // the sweeper knows keys by the name
		return named{limit, pool.Run()}
	}
	return limit
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

// Servers are those that are asked for. Started ones end with the test. A server
// that can't be had fails the test at once, in one line that never shows a
// password.
func Servers(t *testing.T, asked string) lab.Pool {
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

// Lend is Servers without a test. End stops what was started, and tidies up what was
// borrowed; its error says what could not be removed.
func Lend(ctx context.Context, asked string) (all lab.Pool, end func() error,
	err error) {
	if asked != Auto {
		return newBorrowed(ctx, asked)
	}
	if err := servers.Installed(); err != nil {
		return nil, nil, fmt.Errorf("real servers are asked for, and %w", err)
	}
	var mu sync.Mutex
	var started []*servers.Redis
	p := &pool{most: atOnce, room: semaphore.NewWeighted(atOnce),
		start: func() (lab.Server, error) {
			s, err := servers.StartRedis(context.Background())
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, s)
			return ours{s}, nil
		}}
	return p, func() error {
		mu.Lock()
		defer mu.Unlock()
		servers.StopAll(started)
		return nil
	}, nil
}

// Stores are servers of another kind, so many at a time; start starts one.
func Stores(atOnce int, start func() (lab.Server, error)) lab.Pool {
	return &pool{most: atOnce, room: semaphore.NewWeighted(int64(atOnce)), start: start}
}

// need fails a test that servers are asked for and that can't have any.
func need(t *testing.T) {
	t.Helper()
	if err := servers.Installed(); err != nil {
		t.Fatalf("real servers are asked for, and %v", err)
	}
}

// Clusters are Redis Clusters of so many masters; each is one node to a lock.
// They end with the test. All scenarios share the first ones: nothing is done to
// them.
func Clusters(t *testing.T, masters int) lab.Pool {
	t.Helper()
	need(t)
	return Limited(&shared{start: func() (lab.Server, error) {
		c, err := servers.StartCluster(context.Background(), masters)
		if err != nil {
			return nil, err
		}
		t.Cleanup(c.Stop)
		return clustered{c}, nil
	}}, atOnce)
}

// Watched are masters whose replica a Sentinel promotes when they die: the first
// of several servers is one, and the others are plain. Each is used once.
func Watched(t *testing.T) lab.Pool {
	t.Helper()
	return Limited(once{Servers(t, Auto)}, atOnce/4)
}

// shared lends the same servers to everybody.
type shared struct {
	start func() (lab.Server, error)

	mu  sync.Mutex
	all []lab.Server
}

func (p *shared) Borrow(_ context.Context, n int) ([]lab.Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.all) < n {
		s, err := p.start()
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, s)
	}
	return p.all[:n:n], nil
}

func (p *shared) Return([]lab.Server) {}

// newBorrowed are somebody's servers, and how to tidy up there.
func newBorrowed(ctx context.Context, asked string) (lab.Pool, func() error,
	error) {
	left := borrowed{Run: RunName()}
	p := &shared{}
	for name := range strings.SplitSeq(asked, ",") {
		options, err := parse(name)
		if err != nil {
			return nil, nil, err
		}
		if err := servers.Reach(ctx, options); err != nil {
			return nil, nil, err
		}
		this := address{options.Addr, options.Username, options.Password, options.DB}
		for _, other := range left.Servers {
			if other.Addr == this.Addr && other.DB == this.DB {
				return nil, nil, fmt.Errorf("-redis names %s twice: a lock on several"+
					" servers needs different ones", this.Addr)
			}
		}
		p.all = append(p.all, somebodys{options})
		left.Servers = append(left.Servers, this)
	}
	finish, err := process.After(sweeper, left)
	if err != nil {
		return nil, nil, err
	}
	p.start = func() (lab.Server, error) {
		return nil, lab.TooFew(fmt.Sprintf("-redis names %d", len(p.all)))
	}
	return named{Limited(p, atOnce), left.Run}, finish, nil
}

// named is a pool whose keys bear a name.
type named struct {
	lab.Pool
	run string
}

func (n named) Run() string { return n.run }

// once starts servers for one scenario and stops them after it.
type once struct{ plain lab.Pool }

func (p once) Borrow(ctx context.Context, n int) ([]lab.Server, error) {
	s, err := servers.StartSentinel(ctx)
	if err != nil {
		return nil, err
	}
	others, err := p.plain.Borrow(ctx, n-1)
	if err != nil {
		s.Stop()
		return nil, err
	}
	return append([]lab.Server{watched{s}}, others...), nil
}

func (p once) Return(lent []lab.Server) {
	lent[0].(watched).Stop()
	p.plain.Return(lent[1:])
}
