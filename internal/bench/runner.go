package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// Runner measures subjects one after the other on the same servers. Its fields
// are not changed while a Measure is under way, and it is used by one goroutine
// at a time, Progress by any.
type Runner struct {
	Settings
	Servers *nodes.Servers

	// Services is how many processes the clients live in; 0 and 1: this one. Their
	// program calls Serve.
	Services int

	// Think is called inside every critical section between the reading of
	// the stock and the taking, with a context that ends with the row. Tests
	// force an interleaving with it; nil does nothing.
	Think func(ctx context.Context)

	serial         *float64 // acquisitions a second of the serial limit
	serialSections []Stamp  // its sections, in a closed loop
	service        int      // which of the services this process is, from 0
	of             int      // how many there are, 0 and 1: this process alone
	memory         int64    // most of the services so far, in bytes
	stage          atomic.Pointer[stage]
	under          atomic.Pointer[round] // whose clock is running
}

// stage is where a row under way is: in a round, of the subject itself or of the serial
// limit that it is compared with.
type stage struct {
	round, rounds int // from 1
	serial        bool
	started       time.Time // of clients that live elsewhere, zero before
}

// Progress continues the name of the row under way with how far it is.
func (r *Runner) Progress() string {
	text, now := "", r.stage.Load()
	if now == nil {
		now = &stage{}
	}
	if now.rounds > 1 {
		text = fmt.Sprintf(", round %d of %d", now.round, now.rounds)
	}
	if now.serial {
		text += ", the serial limit"
	}
	started, turns := now.started, ""
	if s := r.under.Load(); s != nil {
		started = s.started
		turns = fmt.Sprintf(" %d turns,", s.sections.Load())
		if of := s.each * len(s.clients); of > 0 {
			turns = fmt.Sprintf(" %d of %d turns,", s.sections.Load(), of)
		}
	}
	if started.IsZero() {
		return text + ": warming up"
	}
	return fmt.Sprintf("%s:%s %.1f s", text, turns, max(time.Since(started), 0).Seconds())
}

// Measure lets all clients of one subject start at one instant, and returns what
// they did when all are through, when the timeout is over or when ctx ends: the
// clients then stop waiting, and the holder finishes and releases the lock. The
// row says whether all were through.
//
// With several rounds it reports the one with the median ratio to the serial
// limit, and the worst of what must not happen. Rounds that ctx cuts off are left
// out when there is a complete one.
//
// It returns an error when the row could not begin: no server answers, a lock
// cannot be built, ctx has ended. The keys it has written by then are under the
// servers' prefix, so the servers' Close removes them.
func (r *Runner) Measure(ctx context.Context, subject Subject) (Row, error) {
	row, err := r.measure(ctx, subject)
	if err != nil {
		return Row{}, lock.Failed(ctx, "measure", subject.Name, err)
	}
	return row, nil
}

func (r *Runner) measure(ctx context.Context, subject Subject) (Row, error) {
	defer r.stage.Store(nil)
	if r.Rounds <= 1 {
		r.stage.Store(&stage{round: 1, rounds: 1})
		return r.round(ctx, subject)
	}
	var done []Row
	for i := range r.Rounds {
		row, err := r.compared(ctx, subject, stage{round: i + 1, rounds: r.Rounds})
		if err != nil && len(done) == 0 {
			return Row{}, err
		}
		if err != nil || ctx.Err() != nil && !row.Finished() && len(done) > 0 {
			break
		}
		done = append(done, row)
		if !row.Finished() {
			break // the next would take as long
		}
	}
	return Median(done, r.Rounds), nil
}

// compared measures a subject just after the serial limit.
func (r *Runner) compared(ctx context.Context, subject Subject, now stage) (Row, error) {
	r.serial, r.serialSections = nil, nil
	if !isSerialLimit(subject) {
		serial := now
		serial.serial = true
		r.stage.Store(&serial)
		if _, err := r.round(ctx, serialLimit); err != nil {
			return Row{}, err
		}
	}
	if ctx.Err() != nil && now.round > 1 {
		return Row{}, ctx.Err()
	}
	r.stage.Store(&now)
	return r.round(ctx, subject)
}

// round measures a subject once.
func (r *Runner) round(ctx context.Context, subject Subject) (Row, error) {
	clients, err := r.Servers.Warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return Row{}, err
	}
	r.Servers.Clear()
	m := &Measurement{Settings: r.Settings, Subject: subject, Services: max(r.Services, 1),
		Nodes:    min(subject.Nodes, len(clients)),
		Unlocked: baselines[subject.Name].unlocked || subject.Open != nil}
	m.Turns, m.Stock = r.size(subject)
	m.Poll = r.Pause(subject, r.Servers.Embedded())
	// Should this process be killed, the stock removes itself.
	_, stockKey := r.keys(subject)
	if err := clients[0].Set(ctx, stockKey, m.Stock, r.Timeout+time.Hour).Err(); err != nil {
		return Row{}, fmt.Errorf("set the stock: %w", err)
	}
	switch {
	case subject.Sell != nil:
		m.Counts, err = r.byProgram(ctx, subject)
	case r.Services > 1 && !isSerialLimit(subject):
		m.Counts, err = r.inServices(ctx, subject)
	default:
		m.Counts, err = r.inProcess(ctx, subject, clients)
	}
	if err != nil {
		return Row{}, err
	}
	own, cancel := detached(ctx)
	defer cancel()
	if subject.Open == nil {
		if left, err := clients[0].Get(own, stockKey).Int64(); err == nil {
			m.Left = &left
		}
	} else if m.Left != nil { // each section should have taken one
		m.LostUpdates = m.Sold + *m.Left - int64(m.Stock)
	}
	r.complete(m)
	return NewRow(m), nil
}

// keys are those of a row: the lock's and the stock's.
func (r *Runner) keys(subject Subject) (lockKey, stockKey string) {
	prefix := r.Servers.Prefix(subject.Name)
	return prefix + "lock", prefix + "stock"
}

// inProcess runs all clients in this process.
func (r *Runner) inProcess(ctx context.Context, subject Subject,
	clients []redis.UniversalClient) (all Counts, err error) {
	s, err := r.assign(ctx, subject, clients)
	defer s.end()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return all, err
	}
	before := r.Servers.Usage(ctx, len(clients))
	all = r.open(ctx, s, time.Now())
	all.Usage = r.Servers.Usage(ctx, len(clients)).Since(before)
	if s.left != nil {
		own, cancel := detached(ctx)
		defer cancel()
		left, err := s.left(own)
		if err != nil {
			return all, fmt.Errorf("count the stock: %w", err)
		}
		all.Left = &left
	}
	return all, nil
}

// byProgram lets a program sell the stock by itself.
func (r *Runner) byProgram(ctx context.Context, subject Subject) (Counts, error) {
	work := Assignment{Addresses: r.Servers.Addresses,
		Password: r.Servers.Password(), TTL: r.TTL, Clients: r.Clients,
		Turns: max(r.Ops, 1), Poll: r.Pause(subject, r.Servers.Embedded())}
	work.Lock, work.Stock = r.keys(subject)
	within, cancel := context.WithTimeout(ctx, r.limit()+r.Grace)
	defer cancel()
	part, err := subject.Sell(within, work)
	if err != nil && within.Err() != nil && ctx.Err() == nil { // nobody knows more
		return Counts{Absent: r.Clients, Took: r.limit()}, nil
	}
	return part, err
}

// complete adds to a measurement what it is compared with. The serial limit is
// remembered: later rows are compared with it.
func (r *Runner) complete(m *Measurement) {
	if r.Loop > 0 {
		// A grant after the end of the loop came only because the loop had ended.
		m.Stamps = slices.DeleteFunc(m.Stamps,
			func(s Stamp) bool { return s.Entered >= int64(r.Loop) })
		m.Turns = int(m.Sections + m.Failures)
	}
	if r.Services > 1 {
		m.Most = max(m.Most, MostInside(m.Stamps))
	}
	if isSerialLimit(m.Subject) {
		m.Services, m.Served = 1, nil // it shares with nobody
		if m.Finished() {
			r.serial = m.PerSecond()
		}
		if r.Loop > 0 {
			r.serialSections = m.Stamps
		}
	} else {
		m.SerialSections = r.serialSections
	}
	m.Serial = r.serial
}
