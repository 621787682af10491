package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/machine"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/servers/process"
)

// serviceName is what the processes of a workers are started as.
const serviceName = "bench-service"

const (
	// headStart is the time between the word and the start of all processes.
	headStart = 50 * time.Millisecond

	// connectWithin bounds the opening of a process's connections.
	connectWithin = 30 * time.Second
)

// Workers are the processes that the clients of a run live in: this program, again
// and again. They end with Close, and with this process, however it ends.
type Workers struct {
	services []*process.Process[answer]
	memory   int64 // see PeakMemory
}

// order is a message to a process.
type order struct {
	Verb      verb
	Addresses []string
	Config    nodes.Config
	Settings  Settings
	Service   int // which of the processes this is, from 0
	Of        int // how many there are
	Subject   string
	At        time.Time
}

type verb byte

const (
	connect verb = iota // open the connections
	assign              // build the locks
	begin               // at a time
	stop                // all ends now, forever; has no answer of its own
)

// answer is what a process sends when it has done what it was asked for.
type answer struct {
	Err  string
	Part bench.Part
}

// StartWorkers starts so many processes, whose clients use servers that are not
// embedded. Their program calls Serve. A failure leaves none behind.
func StartWorkers(ctx context.Context, n int, servers *nodes.Servers,
	config nodes.Config) (*Workers, error) {
	c := &Workers{}
	for range n {
		p, err := process.Start[answer](serviceName)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.services = append(c.services, p)
	}
	config = servers.Service(config, n)
	err := c.send(func(int) order {
		return order{Verb: connect, Addresses: servers.Addresses, Config: config}
	})
	if err == nil {
		_, err = c.collect(ctx, connectWithin)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Workers) size() int { return len(c.services) }

// send gives each process its order.
func (c *Workers) send(what func(i int) order) error {
	for i, p := range c.services {
		if err := p.Tell(what(i)); err != nil {
			return c.died(i)
		}
	}
	return nil
}

// died says that a process has ended, and its last words.
func (c *Workers) died(i int) error {
	p := c.services[i]
	select {
	case <-p.Done():
		return fmt.Errorf("service %d of %d has ended: %w", i+1, c.size(), p.Err())
	case <-time.After(time.Second):
		return fmt.Errorf("service %d of %d does not listen", i+1, c.size())
	}
}

// collect waits for an answer of each process. When ctx ends it tells them to
// stop, and then, like after the limit, has no more patience than is needed for
// that.
func (c *Workers) collect(ctx context.Context, limit time.Duration) (
	bench.Part, error) {
	var all bench.Part
	var errs []error
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ended := ctx.Done()
	for i, p := range c.services {
		for open := true; open; {
			select {
			case a, ok := <-p.Answers:
				open = false
				if !ok {
					errs = append(errs, c.died(i))
				} else if a.Err != "" {
					errs = append(errs, errors.New(a.Err))
				}
				all.Add(&a.Part)
			case <-ended:
				ended = nil
				_ = c.send(func(int) order { return order{Verb: stop} })
			case <-timer.C:
				p.Kill()
				return all, errors.Join(append(errs, fmt.Errorf("service %d of "+
					"%d does not answer", i+1, c.size()))...)
			}
		}
	}
	return all, errors.Join(errs...)
}

// run lets the clients of all processes start at one instant.
func (c *Workers) run(ctx context.Context, r *Runner, subject bench.Subject) (bench.Part,
	nodes.Usage, error) {
	err := c.send(func(i int) order {
		return order{Verb: assign, Subject: subject.Name, Settings: r.Settings,
			Service: i, Of: c.size()}
	})
	if err != nil {
		return bench.Part{}, nodes.Usage{}, err
	}
	if _, err = c.collect(ctx, 2*connectWithin); err != nil {
		return bench.Part{}, nodes.Usage{}, err
	}
	before := r.Servers.Usage(ctx, subject.Nodes)
	at := time.Now().Add(headStart)
	if now := r.current.Load(); now != nil {
		started := *now
		started.started = at
		r.current.Store(&started)
	}
	err = c.send(func(int) order { return order{Verb: begin, At: at} })
	if err != nil {
		return bench.Part{}, nodes.Usage{}, err
	}
	all, err := c.collect(ctx, headStart+r.Timeout+r.Grace+2*finishWithin)
	c.memory = max(c.memory, all.Memory)
	after := r.Servers.Usage(ctx, subject.Nodes)
	return all, after.Since(before), err
}

// PeakMemory is the most memory that the processes have had, each at its own time,
// in bytes, 0 when unknown.
func (c *Workers) PeakMemory() int64 { return c.memory }

// Close ends the processes.
func (c *Workers) Close() error {
	var errs []error
	for _, p := range c.services {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Serve is the life of a process of a workers, and in any other process it does
// nothing. Its clients use these locks, or the baselines.
func Serve(locks []bench.Subject) {
	process.Serve(serviceName, func(parent *process.Parent) error {
		// An order that comes after a stop is followed too, and ends at once: a
		// stop may overtake the order that it is to end, and every order is
		// answered.
		work, halt := context.WithCancel(context.Background())
		defer halt()
		s := &service{subjects: Around(locks...)}
		defer s.close()
		orders := make(chan order)
		go func() { // ends with the conversation, or with the process
			defer close(orders)
			defer halt()
			for {
				var o order
				if parent.Hear(&o) != nil {
					return
				}
				if o.Verb == stop {
					halt()
					continue
				}
				orders <- o
			}
		}()
		for o := range orders {
			var a answer
			var err error
			if a.Part, err = s.follow(work, o); err != nil {
				a.Err = err.Error()
			}
			if err := parent.Say(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// service is this process as one of a workers.
type service struct {
	subjects []bench.Subject
	runner   *Runner
	stage    *stage
}

func (s *service) follow(ctx context.Context, o order) (bench.Part, error) {
	switch o.Verb {
	case connect:
		servers, err := nodes.Connect(ctx, o.Addresses, o.Config)
		if err != nil {
			return bench.Part{}, err
		}
		s.runner = &Runner{Servers: servers}
		return bench.Part{}, nil
	case assign:
		return bench.Part{}, s.assign(ctx, o)
	case begin:
		defer s.leave()
		did := s.runner.open(ctx, s.stage, o.At)
		did.Memory = machine.PeakMemory()
		return did, nil
	}
	return bench.Part{}, fmt.Errorf("there is no order %d", o.Verb)
}

// assign builds the locks of this process's clients.
func (s *service) assign(ctx context.Context, o order) error {
	s.leave()
	selected, err := bench.Select(s.subjects, o.Subject)
	if err != nil {
		return err
	}
	s.runner = &Runner{Settings: o.Settings, Servers: s.runner.Servers,
		service: o.Service, of: o.Of}
	clients, err := s.runner.Servers.Warm(ctx, max(selected[0].Nodes, 1))
	if err != nil {
		return err
	}
	s.stage, err = s.runner.assign(ctx, selected[0], clients)
	return err
}

// leave gives back what the locks had in common.
func (s *service) leave() {
	s.stage.end()
	s.stage = nil
}

// close closes the connections. The keys of the run are not this process's to
// remove.
func (s *service) close() {
	s.leave()
	if s.runner != nil {
		s.runner.Servers.CloseClients()
	}
}
