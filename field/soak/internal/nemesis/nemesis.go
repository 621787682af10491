// Package nemesis disturbs a soak: processes, servers, and the network between
// them. Which faults come, where, and for how long is drawn from a seed.
package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/internal/proxy"
	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// World is what can be disturbed.
type World interface {
	Workers() int
	Stop(worker int) error // SIGSTOP
	Continue(worker int) error
	// Replace kills a worker with kill -9, writes that down, and starts a new one
	// in its place.
	Replace(worker int) error

	Servers() int
	// Admin is a client of a server, past all proxies.
	Admin(server int) *redis.Client
	// Restart kills a server with kill -9 and starts it again.
	Restart(ctx context.Context, server int, keepData bool) error
	Proxy(worker, server int) *proxy.Proxy
}

// Nemesis disturbs a world.
type Nemesis struct {
	World  World
	Seed   uint64
	TTL    time.Duration // of the lock, which faults are measured by
	Faults []Fault
	Write  func(event.Event)

	count atomic.Int64
	now   sync.Map // lane to the name of its fault
}

// Fault is one kind of disturbance.
type Fault struct {
	Name string
	Text string // in a list of them
	// Mode says that it comes only when it is asked for: it makes a documented
	// flaw arise.
	Mode bool
	lane int // faults of one lane come one after the other
	do   func(*strike) error
}

// strike is one fault under way.
type strike struct {
	*Nemesis
	ctx    context.Context
	rng    *rand.Rand
	fault  string
	length time.Duration
}

// Select finds faults by their names; without names it is all but the modes.
// Modes are added. Its error lists the valid names.
func Select(only, modes []string) ([]Fault, error) {
	for _, name := range slices.Concat(only, modes) {
		if !slices.ContainsFunc(All, named(name)) {
			var names []string
			for _, f := range All {
				names = append(names, f.Name)
			}
			return nil, fmt.Errorf("there is no fault %q, the faults are %s",
				name, strings.Join(names, ", "))
		}
	}
	var chosen []Fault
	for _, f := range All {
		if slices.Contains(only, f.Name) || slices.Contains(modes, f.Name) ||
			len(only) == 0 && !f.Mode {
			chosen = append(chosen, f)
		}
	}
	return chosen, nil
}

func named(name string) func(Fault) bool {
	return func(f Fault) bool { return f.Name == name }
}

// Run disturbs until ctx ends, or until a fault could not be made or healed, which it
// returns. It heals everything.
func (n *Nemesis) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lanes sync.WaitGroup
	errs := make(chan error, lanesCount)
	for lane := range lanesCount {
		var faults []Fault
		for _, f := range n.Faults {
			if f.lane == lane {
				faults = append(faults, f)
			}
		}
		if len(faults) > 0 {
			lanes.Go(func() {
				err := n.run(ctx, lane, faults)
				if err != nil {
					cancel()
				}
				errs <- err
			})
		}
	}
	lanes.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Nemesis) run(ctx context.Context, lane int, faults []Fault) error {
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
		s := &strike{Nemesis: n, ctx: ctx, rng: rng, fault: fault.Name,
			length: n.length(rng)}
		n.count.Add(1)
		n.now.Store(lane, fault.Name)
		err := fault.do(s)
		n.now.Delete(lane)
		if err != nil {
			return fmt.Errorf("fault %s: %w", fault.Name, err)
		}
	}
}

// length draws how long a fault lasts: too short to end a lease, or long enough.
func (n *Nemesis) length(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return between(rng, n.TTL/20, n.TTL/2)
	}
	return between(rng, n.TTL, n.TTL*5/2)
}

// Count is how many faults there have been.
func (n *Nemesis) Count() int { return int(n.count.Load()) }

// Now names the faults that are under way.
func (n *Nemesis) Now() string {
	var names []string
	n.now.Range(func(_, name any) bool {
		names = append(names, name.(string))
		return true
	})
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}

// last lets a fault last, and ends it early when the nemesis ends.
func (s *strike) last() { _ = lock.Sleep(s.ctx, s.length) }

// begin writes down that the fault begins; the function that it returns, that it
// is over.
func (s *strike) begin(worker int, text string) func() {
	e := event.Event{Kind: event.FaultBegin, Op: s.fault, Worker: worker, Text: text}
	s.Write(e)
	return func() {
		e.Kind = event.FaultEnd
		s.Write(e)
	}
}
