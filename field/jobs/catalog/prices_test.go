package catalog_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/jobs/catalog"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// These choose what BenchmarkPriceList measures.
var (
	onRedis = servers.Flag()
	clients = flag.Int("clients", 100, "how many `clients` come at one instant")
	writes  = flag.Int("writes", 5, "how many of a `hundred` clients change the prices")
	rtt     = flag.Duration("rtt", 0, "adds this to the network's round-trip time")
	against = flag.String("against", "reentrant", "the `name` of the lock that the others "+
		"are compared with")
)

// These are measured beside the rungs.
const (
	noLock   = "no-lock" // its clients don't exclude each other
	byScript = "script"
)

// BenchmarkPriceList lets clients read and change the list behind each lock. An iteration is
// a round, in which all clients come at one instant, just after a round of the lock that
// the others are compared with. An operation is one client's visit.
func BenchmarkPriceList(b *testing.B) {
	usual, err := ladder.Find(*against)
	require.NoError(b, err)
	all := append([]ladder.Rung{{Name: noLock, Nodes: 1}, {Name: byScript, Nodes: 1}},
		ladder.Rungs...)
	for _, rung := range all {
		b.Run("lock="+strings.ReplaceAll(rung.Name, "/", "."), func(b *testing.B) {
			s := open(b, *onRedis, rung.Nodes, bench.Config{Clients: *clients, RTT: *rtt})
			v := &visits{}
			var times []float64
			for b.Loop() {
				than := &visits{}
				play(b, s, usual, than, *clients, *writes)
				before := v.took
				play(b, s, rung, v, *clients, *writes)
				times = append(times, than.took.Seconds()/(v.took-before).Seconds())
			}
			v.report(b, times)
		})
	}
}

// open makes servers for a benchmark or a test.
func open(t testing.TB, asked string, nodes int, config bench.Config) *bench.Servers {
	s, down, err := bench.Open(t.Context(), asked, nodes, config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, down(context.Background())) })
	return s
}

// Whatever the lock, no reader sees half a change, and no change is lost.
func TestBehindEveryLockTheListStaysWhole(t *testing.T) {
	s := open(t, "", 5, bench.Config{Clients: 20})
	for _, rung := range append(ladder.Rungs, ladder.Rung{Name: byScript, Nodes: 1}) {
		v := &visits{}
		play(t, s, rung, v, 20, 20)
		assert.Zero(t, v.half, rung.Name)
		assert.Zero(t, v.lost, rung.Name)
	}
	v := &visits{}
	play(t, s, ladder.Rung{Name: noLock, Nodes: 1}, v, 40, 100)
	assert.NotZero(t, v.lost, noLock)
}

func TestAReaderSeesHalfOfAChangeThatComesBetweenTwoPages(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	list := catalog.List{RDB: rdb, Key: "{prices}"}
	require.NoError(t, list.Begin(t.Context()))
	change := sync.OnceFunc(func() { assert.NoError(t, list.Change(t.Context())) })
	rdb.AddHook(locktest.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if cmd.Name() == "hvals" {
			change()
		}
		return err
	}))
	_, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, half)
	price, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.False(t, half, "the change is over")
	assert.Equal(t, 1, price)
}

// report tells the figures, and the median of how many times as fast the rounds were.
func (v *visits) report(b *testing.B, times []float64) {
	slices.Sort(times)
	b.ReportMetric(float64(v.took.Nanoseconds())/float64(v.done), "ns/op")
	b.ReportMetric(float64(v.commands)/float64(v.done), "commands/op")
	b.ReportMetric(float64(v.half), "half-changes")
	b.ReportMetric(float64(v.lost), "lost-changes")
	b.ReportMetric(times[len(times)/2], "times-"+*against)
	for unit, clock := range map[string]bench.Clock{"read-p50-ms": v.reads,
		"change-p50-ms": v.changes} {
		if p50 := clock.At(50); p50 != nil {
			b.ReportMetric(*p50, unit)
		}
	}
}

// visits are what the clients of some rounds did.
type visits struct {
	took     time.Duration // of each round from the start to the last client's end
	commands int64
	done     int
	lost     int // changes that a later one overwrote unseen

	mu             sync.Mutex  // guards what follows while clients run
	reads, changes bench.Clock // how long each took, with the wait for the lock
	half           int         // readers that saw half a change
	failed         error       // the first
}

// play adds one round of a lock: so many clients, of which so many of a hundred change the
// prices. It takes two minutes at most.
func play(t testing.TB, s *bench.Servers, rung ladder.Rung, v *visits, clients, writes int) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s.Clear()
	nodes, err := s.Warm(ctx, rung.Nodes)
	require.NoError(t, err)
	// No two rounds have a key in common, so what one leaves behind is in nobody's way.
	list := catalog.List{RDB: nodes[0],
		Key: s.Prefix(fmt.Sprintf("%s:%d", rung.Name, time.Now().UnixNano())) + "list"}
	require.NoError(t, list.Begin(ctx))
	doors := make([]door, clients)
	for i := range doors {
		doors[i] = enter(t, rung, nodes, list, lock.PollEvery(bench.Settings{Clients: clients}.
			Pause(bench.Subject{Nodes: rung.Nodes}, s.Embedded())))
	}
	_, err = doors[0].read(ctx)
	require.NoError(t, errors.Join(err, doors[0].change(ctx))) // the server learns the scripts
	defer s.Tidy()()
	before, _ := s.Traffic()
	v.run(ctx, doors, writes)
	after, _ := s.Traffic()
	price, _, err := list.ReadAtOnce(ctx)
	require.NoError(t, cmp.Or(v.failed, err), rung.Name)
	v.commands += after - before
	v.done += clients
	v.lost += 1 + clients*writes/100 - price
}

// run lets the clients begin at one instant, and returns when all have ended.
func (v *visits) run(ctx context.Context, doors []door, writes int) {
	var through sync.WaitGroup
	var began time.Time
	gate := make(chan struct{})
	for i, d := range doors {
		changes := (i+1)*writes/100 != i*writes/100
		through.Go(func() {
			<-gate
			v.visit(ctx, d, changes, began)
		})
	}
	began = time.Now()
	close(gate)
	through.Wait()
	v.took += time.Since(began)
}

// visit is one client's, and counts it.
func (v *visits) visit(ctx context.Context, d door, changes bool, began time.Time) {
	half, clock := false, &v.reads
	var err error
	if changes {
		clock, err = &v.changes, d.change(ctx)
	} else {
		half, err = d.read(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = cmp.Or(v.failed, err)
	*clock = append(*clock, time.Since(began))
	if half {
		v.half++
	}
}

// door is how one client comes to the list.
type door struct {
	read   func(ctx context.Context) (half bool, err error)
	change func(ctx context.Context) error
}

// enter makes a client's door. Readers share a lock that lets them.
func enter(t testing.TB, rung ladder.Rung, nodes []redis.UniversalClient, list catalog.List,
	pause lock.Option) door {
	read := func(ctx context.Context) (half bool, err error) {
		_, half, err = list.Read(ctx)
		return half, err
	}
	switch rung.Name {
	case noLock:
		return door{read, list.Change}
	case byScript:
		return door{change: list.ChangeAtOnce,
			read: func(ctx context.Context) (half bool, err error) {
				_, half, err = list.ReadAtOnce(ctx)
				return half, err
			}}
	}
	// A client that queues for a connection behind thousands is late, not lost.
	late := lock.NodeTimeout(bench.DefaultTTL / 2)
	l, err := rung.Build(lock.Env{Nodes: nodes, Key: list.Key + ":lock",
		TTL: bench.DefaultTTL, Options: []lock.Option{pause, late}})
	require.NoError(t, err, rung.Name)
	acquire, release := l.Lock, l.Unlock
	if rw, ok := l.(lock.ReadWrite); ok {
		acquire, release = rw.RLock, rw.RUnlock
	}
	return door{
		read: func(ctx context.Context) (half bool, err error) {
			if err := acquire(ctx); err != nil {
				return false, err
			}
			half, err = read(ctx)
			return half, errors.Join(err, release(ctx))
		},
		change: func(ctx context.Context) error {
			if err := l.Lock(ctx); err != nil {
				return err
			}
			return errors.Join(list.Change(ctx), l.Unlock(ctx))
		},
	}
}
