package nodes

import (
	"bytes"
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/bench/machine"
)

// network makes servers seem farther away: requests, replies and messages to
// subscribers are on their way for half of the round-trip time.
type network struct {
	half   time.Duration
	clock  *clock
	inside bool // of a world whose time is not the real one
}

func newNetwork(rtt time.Duration, virtual bool) *network {
	n := &network{half: rtt / 2, inside: virtual}
	if n.half > 0 && !virtual {
		n.clock = newClock()
	}
	return n
}

// dial connects through the network.
func (n *network) dial(near func() (net.Conn, error)) (net.Conn, error) {
	conn, err := near()
	if err != nil || n.half == 0 {
		return conn, err
	}
	d := &distant{
		Conn:    conn,
		network: n,
		out:     make(chan parcel, 16),
		in:      make(chan parcel, 16),
		gone:    make(chan struct{}),
	}
	go d.send()
	go d.receive()
	return d, nil
}

// until waits for a moment, which must not be before that of the call before.
func (n *network) until(due time.Time) {
	if n.inside {
		time.Sleep(time.Until(due))
		return
	}
	n.clock.until(due)
}

func (n *network) close() {
	if n.clock != nil {
		n.clock.stop()
	}
}

// clock waits more exactly than the runtime's timers, which on some systems are
// late by up to a millisecond. One thread sleeps for all who wait; that is enough
// because all delays are the same, so that the first to come is the first due.
type clock struct {
	alarms chan alarm
	quit   chan struct{}
	done   chan struct{}
}

type alarm struct {
	due  time.Time
	rung chan struct{}
}

func newClock() *clock {
	c := &clock{make(chan alarm, 1024), make(chan struct{}), make(chan struct{})}
	go c.run()
	return c
}

func (c *clock) run() {
	defer close(c.done)
	runtime.LockOSThread() // and never unlocked: its timer slack is its own
	machine.WakeExactly()
	for {
		select {
		case a := <-c.alarms:
			machine.Nap(time.Until(a.due))
			close(a.rung)
		case <-c.quit:
			return
		}
	}
}

// until waits for a moment, or until stop.
func (c *clock) until(due time.Time) {
	a := alarm{due, make(chan struct{})}
	select {
	case c.alarms <- a:
	case <-c.done:
		return
	}
	select {
	case <-a.rung:
	case <-c.done:
	}
}

func (c *clock) stop() {
	close(c.quit)
	<-c.done
}

// parcel is what was sent with one call, or why there will be no more.
type parcel struct {
	due  time.Time
	what []byte
	err  error
}

// distant is a connection with a delay. Its goroutines end with Close. A read
// deadline counts from the next Read on.
type distant struct {
	net.Conn
	network *network
	out     chan parcel
	in      chan parcel
	gone    chan struct{}
	shut    sync.Once

	greeting atomic.Bool // the newest Write was the driver's greeting

	rest []byte // arrived and not yet read; belongs to the reader

	mu       sync.Mutex
	deadline time.Time
}

// Write returns at once, like that of a connection with room in its buffer. Read
// returns the errors of the connection.
//
// Where time is not the real one the driver's greeting takes none: a connection
// is there before it is used, as on real servers after the warming up. (The
// driver also holds a mutex meanwhile, and that would stop the clock.)
func (d *distant) Write(b []byte) (int, error) {
	greeting := d.network.inside && greets(b)
	d.greeting.Store(greeting)
	if greeting {
		return d.Conn.Write(b)
	}
	due := time.Now().Add(d.network.half)
	select {
	case <-d.gone:
		return 0, net.ErrClosed
	default:
	}
	select {
	case d.out <- parcel{due: due, what: append([]byte(nil), b...)}:
		return len(b), nil
	case <-d.gone:
		return 0, net.ErrClosed
	}
}

// greets says whether a request begins with HELLO.
func greets(request []byte) bool {
	words := bytes.SplitN(request, []byte("\r\n"), 4)
	return len(words) > 2 && bytes.EqualFold(words[2], []byte("HELLO"))
}

func (d *distant) send() {
	for {
		select {
		case p := <-d.out:
			d.network.until(p.due)
			if _, err := d.Conn.Write(p.what); err != nil {
				return
			}
		case <-d.gone:
			return
		}
	}
}

func (d *distant) receive() {
	b := make([]byte, 4096)
	for {
		n, err := d.Conn.Read(b)
		due := time.Now()
		if !d.greeting.Load() {
			due = due.Add(d.network.half)
		}
		if n > 0 && !d.arrive(parcel{due: due,
			what: append([]byte(nil), b[:n]...)}) {
			return
		}
		if err != nil {
			d.arrive(parcel{due: due, err: err})
			return
		}
	}
}

func (d *distant) arrive(p parcel) bool {
	select {
	case d.in <- p:
		return true
	case <-d.gone:
		return false
	}
}

func (d *distant) Read(b []byte) (int, error) {
	for len(d.rest) == 0 {
		d.mu.Lock()
		deadline := d.deadline
		d.mu.Unlock()
		ctx, cancel := context.Background(), func() {}
		if !deadline.IsZero() {
			ctx, cancel = context.WithDeadline(ctx, deadline)
		}
		select {
		case p := <-d.in:
			cancel()
			d.network.until(p.due)
			if p.err != nil {
				d.in <- p // for whoever reads next
				return 0, p.err
			}
			d.rest = p.what
		case <-ctx.Done():
			cancel()
			return 0, os.ErrDeadlineExceeded
		case <-d.gone:
			cancel()
			return 0, net.ErrClosed
		}
	}
	n := copy(b, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// SetReadDeadline sets the deadline of the Reads from now on.
func (d *distant) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = t
	return nil
}

// SetDeadline is SetReadDeadline: Write never waits for the network.
func (d *distant) SetDeadline(t time.Time) error { return d.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (d *distant) SetWriteDeadline(time.Time) error { return nil }

// Close closes both ends. Data on its way is lost.
func (d *distant) Close() error {
	d.shut.Do(func() { close(d.gone) })
	return d.Conn.Close()
}
