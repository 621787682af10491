package benchmark

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ServiceVariable is set in the environment of a process that is one of a crew:
// its main function must call Serve with its standard streams.
const ServiceVariable = "LOCKLADDER_BENCH_SERVICE"

const (
	// headStart is the time between the word and the start of all processes.
	headStart = 50 * time.Millisecond

	// orderlyWithin is what a process has to end when it is told to.
	orderlyWithin = 10 * time.Second
)

// Crew are the processes that the clients of a run live in: this program, again
// and again. They end with Close, and with this process, however it ends.
type Crew struct {
	hands  []*hand
	memory int64 // see PeakMemory
}

// hand is one process.
type hand struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *gob.Encoder
	answers chan answer // closed when the process has ended
	log     bytes.Buffer
	ended   chan struct{}
}

// order is what a process is told.
type order struct {
	Verb      verb
	Addresses []string
	Config    Config
	Settings  settings
	Subject   string
	At        time.Time
}

type verb byte

const (
	connect verb = iota // open the connections
	seat                // build the locks
	begin               // at a time
	stop                // all ends now, for ever; has no answer of its own
)

// answer is what a process says when it has done what it was told.
type answer struct {
	Err  string
	Part part
}

// settings are those of a runner that a process of its crew needs.
type settings struct {
	Clients, Stock, Ops       int
	TTL, Poll, Timeout, Grace time.Duration
	Loop                      time.Duration
	FixedPoll                 bool
	Crash, Overrun            float64
	Seed                      uint64
	Service, Of               int
}

func (r *Runner) settings(service, of int) settings {
	return settings{
		Clients: r.Clients, Stock: r.Stock, Ops: r.Ops, TTL: r.TTL,
		Poll: r.Poll, Timeout: r.Timeout, Grace: r.Grace, Loop: r.Loop,
		FixedPoll: r.FixedPoll, Crash: r.Crash, Overrun: r.Overrun,
		Seed: r.Seed, Service: service, Of: of,
	}
}

// StartCrew starts so many processes, whose clients use servers that are not
// embedded. A failure leaves none behind.
func StartCrew(ctx context.Context, n, clients int, servers *Servers,
	config Config) (*Crew, error) {
	c := &Crew{}
	for range n {
		h, err := newHand()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.hands = append(c.hands, h)
	}
	config.Clients = (clients + n - 1) / n
	config.Prefix, config.Password = servers.prefix, servers.password
	err := c.tell(func(int) order {
		return order{Verb: connect, Addresses: servers.Addresses, Config: config}
	})
	if err == nil {
		_, err = c.collect(ctx, warmWithin)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func newHand() (*hand, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	h := &hand{cmd: exec.Command(self), answers: make(chan answer, 1),
		ended: make(chan struct{})}
	h.cmd.Env = append(os.Environ(), ServiceVariable+"=1")
	h.cmd.Stderr = &h.log
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a service: %w", err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a service: %w", err)
	}
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a service: %w", err)
	}
	h.orders = gob.NewEncoder(h.in)
	go func() { // ends with the process, which Close ends and joins
		defer close(h.ended)
		defer close(h.answers)
		words := gob.NewDecoder(out)
		for {
			var a answer
			if words.Decode(&a) != nil {
				break
			}
			h.answers <- a
		}
		h.cmd.Wait()
	}()
	return h, nil
}

func (c *Crew) size() int { return len(c.hands) }

// tell gives each process its order.
func (c *Crew) tell(what func(i int) order) error {
	for i, h := range c.hands {
		if err := h.orders.Encode(what(i)); err != nil {
			return c.died(i)
		}
	}
	return nil
}

// died says that a process has ended, and its last words.
func (c *Crew) died(i int) error {
	h := c.hands[i]
	select {
	case <-h.ended:
	case <-time.After(time.Second):
		return fmt.Errorf("service %d of %d does not listen", i+1, len(c.hands))
	}
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	return fmt.Errorf("service %d of %d has ended: %s", i+1, len(c.hands),
		cmp.Or(lines[len(lines)-1], h.cmd.ProcessState.String()))
}

// collect waits for an answer of each process. When ctx ends it tells them to
// stop, and then, like after the limit, has no more patience than is needed for
// that.
func (c *Crew) collect(ctx context.Context, limit time.Duration) (part,
	error) {
	var all part
	var errs []error
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ended := ctx.Done()
	for i, h := range c.hands {
		for open := true; open; {
			select {
			case a, ok := <-h.answers:
				open = false
				if !ok {
					errs = append(errs, c.died(i))
				} else if a.Err != "" {
					errs = append(errs, errors.New(a.Err))
				}
				all.add(&a.Part)
			case <-ended:
				ended = nil
				_ = c.tell(func(int) order { return order{Verb: stop} })
			case <-timer.C:
				h.cmd.Process.Kill()
				return all, errors.Join(append(errs, fmt.Errorf("service %d of "+
					"%d does not answer", i+1, len(c.hands)))...)
			}
		}
	}
	return all, errors.Join(errs...)
}

// run lets the clients of all processes start at one instant.
func (c *Crew) run(ctx context.Context, r *Runner, subject Subject) (part,
	usage, error) {
	err := c.tell(func(i int) order {
		return order{Verb: seat, Subject: subject.Name,
			Settings: r.settings(i, len(c.hands))}
	})
	if err != nil {
		return part{}, usage{}, err
	}
	if _, err = c.collect(ctx, 2*warmWithin); err != nil {
		return part{}, usage{}, err
	}
	before := r.Servers.usage(ctx, max(subject.Nodes, 1))
	at := time.Now().Add(headStart)
	if now := r.current.Load(); now != nil {
		started := *now
		started.started = at
		r.current.Store(&started)
	}
	err = c.tell(func(int) order { return order{Verb: begin, At: at} })
	if err != nil {
		return part{}, usage{}, err
	}
	all, err := c.collect(ctx, headStart+r.Timeout+r.Grace+2*finishWithin)
	c.memory = max(c.memory, all.Memory)
	after := r.Servers.usage(ctx, max(subject.Nodes, 1))
	return all, after.since(before), err
}

// PeakMemory is the most memory that the processes have had, each at its own time,
// in bytes, 0 when unknown.
func (c *Crew) PeakMemory() int64 { return c.memory }

// Close ends the processes.
func (c *Crew) Close() error {
	var errs []error
	for i, h := range c.hands {
		h.in.Close()
		go func() { // an answer that nobody waits for must not keep it
			for range h.answers {
			}
		}()
		select {
		case <-h.ended:
		case <-time.After(orderlyWithin):
			h.cmd.Process.Kill()
			<-h.ended
			errs = append(errs, fmt.Errorf("service %d of %d had to be killed",
				i+1, len(c.hands)))
		}
	}
	return errors.Join(errs...)
}

// Serve is the life of a process of a crew: it takes orders until there are no
// more, or ctx ends.
func Serve(ctx context.Context, subjects []Subject, in io.Reader,
	out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	// Whatever comes after a stop is followed too, and ends at once: a stop may
	// overtake the beginning of what it is to end, and every order is answered.
	work, halt := context.WithCancel(ctx)
	defer halt()
	s := &service{subjects: subjects, answers: gob.NewEncoder(out)}
	defer s.close()
	orders := make(chan order)
	go func() { // ends with the orders; a process that ends does not join it
		defer close(orders)
		defer end()
		words := gob.NewDecoder(in)
		for {
			var o order
			if words.Decode(&o) != nil {
				return
			}
			if o.Verb == stop {
				halt()
				continue
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return
			}
		}
	}()
	for o := range orders {
		var a answer
		p, err := s.follow(work, o)
		if a.Part = p; err != nil {
			a.Err = err.Error()
		}
		if err := s.answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return nil
}

// service is this process as one of a crew.
type service struct {
	subjects []Subject
	answers  *gob.Encoder
	runner   *Runner
	stage    *stage
}

func (s *service) follow(ctx context.Context, o order) (part, error) {
	switch o.Verb {
	case connect:
		servers, err := Connect(ctx, o.Addresses, o.Config)
		if err != nil {
			return part{}, err
		}
		s.runner = &Runner{Servers: servers}
		return part{}, nil
	case seat:
		return part{}, s.seat(ctx, o)
	case begin:
		defer s.leave()
		did := s.runner.open(ctx, s.stage, o.At)
		did.Memory = PeakMemory()
		return did, nil
	}
	return part{}, fmt.Errorf("there is no order %d", o.Verb)
}

// seat builds the locks of this process's clients.
func (s *service) seat(ctx context.Context, o order) error {
	s.leave()
	selected, err := Select(s.subjects, o.Subject)
	if err != nil {
		return err
	}
	w := o.Settings
	s.runner = &Runner{Servers: s.runner.Servers, Clients: w.Clients,
		Stock: w.Stock, Ops: w.Ops, TTL: w.TTL, Poll: w.Poll,
		Timeout: w.Timeout, Grace: w.Grace, Loop: w.Loop,
		FixedPoll: w.FixedPoll, Crash: w.Crash, Overrun: w.Overrun,
		Seed: w.Seed, service: w.Service, of: w.Of}
	nodes, err := s.runner.Servers.warm(ctx, max(selected[0].Nodes, 1))
	if err != nil {
		return err
	}
	s.stage, err = s.runner.seat(ctx, selected[0], nodes)
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
		s.runner.Servers.closeClients()
	}
}
