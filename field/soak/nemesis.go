package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
)

// environment is what can be disturbed.
type environment interface {
	Workers() int
	Stop(worker int) error // SIGSTOP
	Continue(worker int) error
	// Replace kills a worker with kill -9, writes that down, and starts a new one in its place.
	Replace(worker int) error

	Servers() int
	// Admin is a client of a server, past all proxies.
	Admin(server int) *redis.Client
	// Restart kills a server with kill -9 and starts it again.
	Restart(ctx context.Context, server int, keepData bool) error
	Proxy(worker, server int) *proxy.Proxy
}

// nemesis disturbs a soak: processes, servers, and the network between them. Which
// faults come, where, and for how long is drawn from a seed.
type nemesis struct {
	World  environment
	Seed   uint64
	TTL    time.Duration // of the lock, which faults are measured by
	Faults []fault
	Write  func(Event)

	count atomic.Int64
}

// fault is one kind of disturbance.
type fault struct {
	Name string
	Text string // in a list of them
	// Mode says that it comes only when it is asked for: it makes a documented flaw arise.
	Mode bool
	lane int // faults of one lane come one after the other
	do   func(*strike) error
}

// strike is one fault under way.
type strike struct {
	*nemesis
	ctx    context.Context
	rng    *rand.Rand
	fault  string
	length time.Duration
}

// selectFaults finds faults by their names, which commas separate; without names it is
// all but the modes. Its error lists the valid names.
func selectFaults(only string) (chosen []fault, err error) {
	names := map[string]bool{}
	for _, f := range allFaults {
		names[f.Name] = true
		if only == "" && !f.Mode || slices.Contains(strings.Split(only, ","), f.Name) {
			chosen = append(chosen, f)
		}
	}
	for name := range strings.SplitSeq(only, ",") {
		if only != "" && !names[name] {
			return nil, terminal.Unknown("fault", name, slices.Sorted(maps.Keys(names)))
		}
	}
	return chosen, nil
}

// Run disturbs until ctx ends, or until a fault could not be made or healed, which it
// returns. It heals everything.
func (n *nemesis) Run(ctx context.Context) error {
	lanes, ctx := errgroup.WithContext(ctx)
	for lane := range lanesCount {
		faults := slices.DeleteFunc(slices.Clone(n.Faults),
			func(f fault) bool { return f.lane != lane })
		if len(faults) > 0 {
			lanes.Go(func() error { return n.run(ctx, lane, faults) })
		}
	}
	return lanes.Wait()
}

func (n *nemesis) run(ctx context.Context, lane int, faults []fault) error {
	rng := rand.New(rand.NewPCG(n.Seed, uint64(lane)))
	for {
		longest := 900 * time.Millisecond
		if lane == atServers {
			longest *= 3 // one of these is felt by all
		}
		_ = lock.Sleep(ctx, between(rng, 100*time.Millisecond, longest))
		if ctx.Err() != nil {
			return nil
		}
		fault := faults[rng.IntN(len(faults))]
		s := &strike{nemesis: n, ctx: ctx, rng: rng, fault: fault.Name, length: n.length(rng)}
		n.count.Add(1)
		if err := fault.do(s); err != nil {
			return fmt.Errorf("fault %s: %w", fault.Name, err)
		}
	}
}

// length draws how long a fault lasts: too short to end a lease, or long enough.
func (n *nemesis) length(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return between(rng, n.TTL/20, n.TTL/2)
	}
	return between(rng, n.TTL, n.TTL*5/2)
}

// Count is how many faults there have been.
func (n *nemesis) Count() int { return int(n.count.Load()) }

func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}

// last lets a fault last, and ends it early when the nemesis ends.
func (s *strike) last() { _ = lock.Sleep(s.ctx, s.length) }

// begin writes down that the fault begins; the function that it returns, that it is over.
func (s *strike) begin(worker int, text string) func() {
	e := Event{Kind: FaultBegin, Op: s.fault, Worker: worker, Text: text}
	s.Write(e)
	return func() {
		e.Kind = FaultEnd
		s.Write(e)
	}
}

// Lanes run beside each other, so that faults of different kinds coincide.
const (
	processes = iota
	atServers
	network
	lanesCount
)

// allFaults are the faults.
var allFaults = []fault{
	{Name: "stop", lane: processes, do: stop,
		Text: "SIGSTOP for a worker, and SIGCONT"},
	{Name: "kill", lane: processes, do: kill,
		Text: "kill -9 for a worker, and a new one"},
	{Name: "client-kill", lane: atServers, do: killClients("normal"),
		Text: "CLIENT KILL TYPE normal"},
	{Name: "client-kill-pubsub", lane: atServers, do: killClients("pubsub"),
		Text: "CLIENT KILL TYPE pubsub"},
	{Name: "pause-all", lane: atServers, do: pauseClients("ALL"),
		Text: "CLIENT PAUSE ALL"},
	{Name: "pause-write", lane: atServers, do: pauseClients("WRITE"),
		Text: "CLIENT PAUSE WRITE"},
	{Name: "script-flush", lane: atServers, do: order("SCRIPT", "FLUSH"),
		Text: "SCRIPT FLUSH"},
	{Name: "debug-sleep", lane: atServers, do: atServer(sleep),
		Text: "DEBUG SLEEP: the server stands still"},
	{Name: "restart", lane: atServers, do: restart(true),
		Text: "kill -9 for the server, and a restart with all data"},
	{Name: "restart-empty", lane: atServers, do: restart(false), Mode: true,
		Text: "kill -9 for the server, and a restart without data"},
	{Name: "flushall", lane: atServers, do: order("FLUSHALL"), Mode: true,
		Text: "FLUSHALL"},
	{Name: "delay", lane: network, do: delay,
		Text: "all data arrives later, or replies up to 1.5 leases later"},
	{Name: "late", lane: network, do: late,
		Text: "requests or replies are held back, and then delivered"},
	{Name: "blackhole", lane: network, do: blackhole,
		Text: "requests or replies are lost, connections hang"},
	{Name: "cut", lane: network, do: cut, Text: "connections are reset"},
	{Name: "half-close", lane: network, do: halfClose,
		Text: "one direction of the connections is closed"},
	{Name: "refuse", lane: network, do: refuse,
		Text: "new connections are refused, and old ones reset"},
}

func stop(s *strike) error {
	w := s.rng.IntN(s.World.Workers())
	// Both events come before their signals: nothing that the process does
	// after the second one is explained by a stop.
	s.Write(Event{Kind: Stop, Worker: w, Text: fmt.Sprint("for ", s.length.Round(time.Millisecond))})
	if err := s.World.Stop(w); err != nil {
		return err
	}
	s.last()
	s.Write(Event{Kind: Continue, Worker: w})
	return s.World.Continue(w)
}

func kill(s *strike) error {
	return s.World.Replace(s.rng.IntN(s.World.Workers()))
}

// atServer draws the server that a fault is about.
func atServer(do func(s *strike, server int) error) func(*strike) error {
	return func(s *strike) error {
		server := s.rng.IntN(s.World.Servers())
		defer s.begin(everyone, fmt.Sprint("at server ", server+1))()
		return do(s, server)
	}
}

// ask sends a command to a server past all proxies, again and again while the server loads its
// data after a restart. A fault that the end of the nemesis cuts short still gets its answer.
func (s *strike) ask(server int, args ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 30*time.Second)
	defer cancel()
	for {
		err := s.World.Admin(server).Do(ctx, args...).Err()
		if !redis.IsLoadingError(err) || lock.Sleep(ctx, s.TTL/100) != nil {
			return err
		}
	}
}

func order(args ...any) func(*strike) error {
	return atServer(func(s *strike, server int) error {
		return s.ask(server, args...)
	})
}

func killClients(kind string) func(*strike) error {
	return order("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
}

func pauseClients(which string) func(*strike) error {
	return atServer(func(s *strike, server int) error {
		// The pause ends by itself; UNPAUSE ends it when the fault does.
		err := s.ask(server, "CLIENT", "PAUSE", s.length.Milliseconds(), which)
		if err != nil {
			return err
		}
		s.last()
		return s.ask(server, "CLIENT", "UNPAUSE")
	})
}

func sleep(s *strike, server int) error {
	return s.ask(server, "DEBUG", "SLEEP", fmt.Sprintf("%.3f", s.length.Seconds()))
}

func restart(keepData bool) func(*strike) error {
	return atServer(func(s *strike, server int) error {
		return s.World.Restart(context.WithoutCancel(s.ctx), server, keepData)
	})
}

// network draws what a fault of the network is about: one worker or all, and one
// server or all. What can be undone lasts, and then it is.
func (s *strike) network(what string, do func(*proxy.Proxy),
	undo func(*proxy.Proxy) error) error {
	var all []*proxy.Proxy
	where := ""
	workers, servers := s.World.Workers(), s.World.Servers()
	worker, first, last := everyone, 0, workers-1
	if s.rng.IntN(3) > 0 {
		worker = s.rng.IntN(workers)
		first, last = worker, worker
	}
	server := s.rng.IntN(servers)
	every := servers == 1 || s.rng.IntN(3) == 0
	if !every {
		where = fmt.Sprintf("to server %d ", server+1)
	}
	for w := first; w <= last; w++ {
		for n := range servers {
			if every || n == server {
				all = append(all, s.World.Proxy(w, n))
			}
		}
	}
	defer s.begin(worker, where+what)()
	for _, p := range all {
		do(p)
	}
	if undo == nil {
		return nil
	}
	s.last()
	var errs []error
	for _, p := range all {
		errs = append(errs, undo(p))
	}
	return errors.Join(errs...)
}

// direction draws one.
func (s *strike) direction() (proxy.Direction, string) {
	switch s.rng.IntN(3) {
	case 0:
		return proxy.Requests, "requests"
	case 1:
		return proxy.Replies, "replies"
	}
	return proxy.Both, "both ways"
}

// weather sets one for the length of the fault.
func (s *strike) weather(w proxy.Weather, what string) error {
	return s.network(what, func(p *proxy.Proxy) { p.Set(w) }, func(p *proxy.Proxy) error {
		p.Set(proxy.Weather{})
		return nil
	})
}

func delay(s *strike) error {
	if s.rng.IntN(3) == 0 {
		d := between(s.rng, time.Millisecond, s.TTL*3/10)
		return s.weather(proxy.Weather{Delay: d}, d.Round(time.Millisecond).String())
	}
	d := between(s.rng, s.TTL*3/4, s.TTL*3/2)
	s.length = max(s.length, 2*d) // else nothing is answered during it
	return s.weather(proxy.Weather{Delay: d, Slow: proxy.Replies},
		d.Round(time.Millisecond).String()+" replies")
}

func late(s *strike) error {
	d, what := s.direction()
	return s.weather(proxy.Weather{Hold: d}, what)
}

func blackhole(s *strike) error {
	d, what := s.direction()
	return s.weather(proxy.Weather{Swallow: d}, what)
}

func cut(s *strike) error {
	return s.network("", func(p *proxy.Proxy) { p.Cut() }, nil)
}

func halfClose(s *strike) error {
	d, what := s.direction()
	return s.network(what, func(p *proxy.Proxy) { p.HalfClose(d) }, nil)
}

func refuse(s *strike) error {
	return s.network("", func(p *proxy.Proxy) {
		p.Refuse()
		p.Cut()
	}, (*proxy.Proxy).Admit)
}
