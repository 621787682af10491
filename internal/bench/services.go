package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/servers/process"
)

// serviceName is what the processes of a round are started as.
const serviceName = "bench-service"

const (
	// headStart is the time between the word and the start of all processes.
	headStart = 50 * time.Millisecond

	// readyWithin bounds the opening of a process's connections and the building
	// of its locks.
	readyWithin = time.Minute
)

// services are the processes that the clients of a round live in: this program,
// again and again.
type services []*process.Process[answer]

// order is what a process is told first. The second word is the time at which its
// clients start; all ends with the third, or with the conversation.
type order struct {
	Addresses []string
	Config    nodes.Config
	Settings  Settings
	Subject   string
	Service   int // which of the processes this is, from 0
	Of        int // how many there are
}

// answer is what a process says when its clients are ready, and when they are
// through.
type answer struct {
	Err    string
	Counts Counts
}

// inServices lets the clients of several processes start at one instant.
func (r *Runner) inServices(ctx context.Context, subject Subject) (
	all Counts, err error) {
	var s services
	defer func() {
		for _, p := range s {
			err = errors.Join(err, p.Close())
		}
	}()
	for i := range r.Services {
		p, err := process.Start[answer](serviceName)
		if err != nil {
			return all, err
		}
		s = append(s, p)
		_ = p.Tell(order{Addresses: r.Servers.Addresses, Config: r.Servers.Service(r.Services),
			Settings: r.Settings, Subject: subject.Name, Service: i,
			Of: r.Services}) // a process that does not hear it does not answer
	}
	if _, err := s.collect(ctx, readyWithin); err != nil {
		return all, err
	}
	before := r.Servers.Usage(ctx, subject.Nodes)
	at := time.Now().Add(headStart)
	if now := r.stage.Load(); now != nil {
		started := *now
		started.started = at
		r.stage.Store(&started)
	}
	s.tell(at)
	all, err = s.collect(ctx, headStart+r.Timeout+r.Grace+2*finishWithin)
	r.memory = max(r.memory, all.Memory)
	all.Usage = r.Servers.Usage(ctx, subject.Nodes).Since(before)
	return all, err
}

// tell gives each process its next word.
func (s services) tell(at time.Time) {
	for _, p := range s {
		_ = p.Tell(at) // a process that does not hear it does not answer
	}
}

// collect waits for an answer of each process. When ctx ends it tells them to
// stop, and then, like after the limit, has no more patience than is needed for
// that.
func (s services) collect(ctx context.Context, limit time.Duration) (
	all Counts, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ended := ctx.Done()
	for i, p := range s {
		for open := true; open; {
			select {
			case a, ok := <-p.Answers:
				open = false
				all.Add(&a.Counts)
				if !ok {
					err = errors.Join(err, fmt.Errorf("service %d of %d has ended: %w",
						i+1, len(s), p.Err()))
				} else if a.Err != "" {
					err = errors.Join(err, errors.New(a.Err))
				}
			case <-ended:
				ended = nil
				s.tell(time.Now())
			case <-timer.C:
				p.Kill()
				return all, errors.Join(err, fmt.Errorf("service %d of %d does not"+
					" answer", i+1, len(s)))
			}
		}
	}
	return all, err
}

// Serve is the life of a process of a round, and in any other process it does
// nothing. Its clients use these locks, or the baselines.
func Serve(locks []Subject) {
	process.Serve(serviceName, func(parent *process.Parent) error {
		var o order
		if err := parent.Hear(&o); err != nil {
			return fmt.Errorf("read a service's order: %w", err)
		}
		ctx, halt := context.WithCancel(context.Background())
		defer halt()
		begin := make(chan time.Time, 1)
		go func() { // ends with the conversation, or with the process
			defer halt()
			defer close(begin)
			var at time.Time
			if parent.Hear(&at) == nil {
				begin <- at
				_ = parent.Hear(&at)
			}
		}()
		open, end, err := o.prepare(ctx, locks)
		defer end()
		if err != nil {
			return parent.Say(answer{Err: err.Error()})
		}
		if err := parent.Say(answer{}); err != nil {
			return err
		}
		at, begins := <-begin
		if !begins {
			return nil
		}
		did := open(at)
		did.Memory = peakMemory()
		return parent.Say(answer{Counts: did})
	})
}

// prepare connects this process, and builds the locks of its clients.
func (o order) prepare(ctx context.Context, locks []Subject) (open func(at time.Time) Counts,
	end func(), err error) {
	end = func() {}
	selected, err := Select(Around(locks...), o.Subject)
	if err != nil {
		return nil, end, err
	}
	servers, err := nodes.Connect(ctx, o.Addresses, o.Config)
	if err != nil {
		return nil, end, err
	}
	end = func() { servers.CloseClients() } // the run's keys are not this process's to remove
	clients, err := servers.Warm(ctx, max(selected[0].Nodes, 1))
	if err != nil {
		return nil, end, err
	}
	r := &Runner{Settings: o.Settings, Servers: servers, service: o.Service, of: o.Of}
	s, err := r.assign(ctx, selected[0], clients)
	return func(at time.Time) Counts { return r.open(ctx, s, at) },
		func() { s.end(); servers.CloseClients() }, err
}
