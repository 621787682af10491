// Package inventory is the inventory decrement: many clients share a stock, and each of
// them once acquires the lock, reads the stock, takes one if there is any, and
// releases. It measures whatever it is given: the rungs, the baselines that it
// brings along, and anybody's lock.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
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

	serial  *float64      // acquisitions a second of the serial limit
	lone    []bench.Stamp // its sections, in a closed loop
	service int           // which of the services this process is, from 0
	of      int           // how many there are, 0 and 1: this process alone
	memory  int64         // most of the services so far, in bytes
	current atomic.Pointer[Progress]
	stage   atomic.Pointer[stage]
}

// Progress is how far the row under way is.
type Progress struct {
	Round, Rounds int  // from 1
	Serial        bool // the serial limit is measured, for the row's ratio
	Sections      int
	Turns         int // 0 in a closed loop, or when the clients live elsewhere
	Elapsed       time.Duration

	started time.Time // of clients that live elsewhere
}

// Progress reports on the row under way, with zeroes but for the round when the
// clock of none is running.
func (r *Runner) Progress() Progress {
	var p Progress
	if now := r.current.Load(); now != nil {
		p = *now
	}
	if !p.started.IsZero() {
		p.Elapsed = max(time.Since(p.started), 0)
		p.started = time.Time{}
	}
	if st := r.stage.Load(); st != nil {
		p.Sections, p.Turns = int(st.round.sections.Load()), st.round.turns
		p.Elapsed = time.Since(st.round.started)
	}
	return p
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
func (r *Runner) Measure(ctx context.Context, subject bench.Subject) (
	bench.Row, error) {
	row, err := r.measure(ctx, subject)
	if err != nil {
		return bench.Row{}, lock.Failed(ctx, "measure", subject.Name, err)
	}
	return row, nil
}

func (r *Runner) measure(ctx context.Context, subject bench.Subject) (
	bench.Row, error) {
	rounds := max(r.Rounds, 1)
	defer r.current.Store(nil)
	if rounds == 1 {
		r.current.Store(&Progress{Round: 1, Rounds: 1})
		row, err := r.round(ctx, subject)
		if err != nil {
			return bench.Row{}, err
		}
		r.compare(&row, subject)
		return row, nil
	}
	var done []bench.Row
	for i := range rounds {
		r.serial, r.lone = nil, nil
		if !alone(subject) {
			r.current.Store(&Progress{Round: i + 1, Rounds: rounds, Serial: true})
			serial, err := r.round(ctx, serialLimit)
			if err != nil && len(done) == 0 {
				return bench.Row{}, err
			}
			if err != nil {
				break
			}
			r.compare(&serial, serialLimit)
		}
		if ctx.Err() != nil && len(done) > 0 {
			break
		}
		r.current.Store(&Progress{Round: i + 1, Rounds: rounds})
		row, err := r.round(ctx, subject)
		if err != nil && len(done) == 0 {
			return bench.Row{}, err
		}
		if err != nil || ctx.Err() != nil && !row.Finished && len(done) > 0 {
			break
		}
		r.compare(&row, subject)
		done = append(done, row)
		if !row.Finished {
			break // the next would take as long
		}
	}
	return bench.Median(done, rounds), nil
}

// compare compares the row with the serial limit, if that was measured.
func (r *Runner) compare(row *bench.Row, subject bench.Subject) {
	var sections []bench.Stamp
	switch {
	case !alone(subject):
		sections = r.lone
	case row.Finished:
		r.serial = row.AcquisitionsPerSecond
	}
	row.Compare(r.serial, sections)
}

// round measures a subject once.
func (r *Runner) round(ctx context.Context, subject bench.Subject) (
	bench.Row, error) {
	if subject.OwnServer && r.Services > 1 {
		return bench.Row{}, fmt.Errorf("%w: only this process has the row's server",
			lock.ErrInvalid)
	}
	clients, err := r.Servers.Warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return bench.Row{}, err
	}
	r.Servers.Clear()
	// Should this process be killed, the stock removes itself.
	_, stockKey := r.keys(subject)
	_, stock := r.size(subject)
	if err := clients[0].Set(ctx, stockKey, stock,
		r.Timeout+time.Hour).Err(); err != nil {
		return bench.Row{}, fmt.Errorf("set the stock: %w", err)
	}
	var all bench.Part
	var used nodes.Usage
	if subject.Sell != nil {
		all, err = r.elsewhere(ctx, subject)
	} else if r.Services > 1 && !alone(subject) {
		all, used, err = r.inServices(ctx, subject)
	} else {
		all, used, err = r.here(ctx, subject, clients)
	}
	if err != nil {
		return bench.Row{}, err
	}
	row := r.row(subject, &all)
	if alone(subject) && r.Loop > 0 {
		r.lone = all.Stamps
	}
	row.Nodes = min(subject.Nodes, len(clients))
	if used.Known && row.Sections > 0 && subject.Nodes > 0 {
		row.CallsPerSection = bench.Per(used.Calls, row.Sections)
	}
	if used.Known && row.Sections > 0 && used.CPU > 0 {
		row.CPU = &bench.CPU{
			Server:  *bench.Per(used.CPU.Microseconds(), row.Sections),
			Clients: *bench.Per(all.CPU.Microseconds(), row.Sections),
		}
	}
	own, cancel := detached(ctx)
	defer cancel()
	if subject.Open != nil {
		row.Left = all.Left
		if all.Left != nil { // each section should have taken one
			row.LostUpdates = row.Sold + *all.Left - int64(row.Stock)
		}
		return row, nil
	}
	if left, err := clients[0].Get(own, stockKey).Int64(); err == nil {
		row.Left = &left
	}
	return row, nil
}

// keys are those of a row: the lock's and the stock's.
func (r *Runner) keys(subject bench.Subject) (lockKey, stockKey string) {
	prefix := r.Servers.Prefix(subject.Name)
	return prefix + "lock", prefix + "stock"
}

// here runs all clients in this process.
func (r *Runner) here(ctx context.Context, subject bench.Subject,
	clients []redis.UniversalClient) (bench.Part, nodes.Usage, error) {
	st, err := r.assign(ctx, subject, clients)
	defer st.end()
	if err != nil {
		return bench.Part{}, nodes.Usage{}, err
	}
	if ctx.Err() != nil {
		return bench.Part{}, nodes.Usage{}, ctx.Err()
	}
	before := r.Servers.Usage(ctx, len(clients))
	all := r.open(ctx, st, time.Now())
	after := r.Servers.Usage(ctx, len(clients))
	if st.left != nil {
		own, cancel := detached(ctx)
		defer cancel()
		left, err := st.left(own)
		if err != nil {
			return bench.Part{}, nodes.Usage{},
				fmt.Errorf("count the stock: %w", err)
		}
		all.Left = &left
	}
	return all, after.Since(before), nil
}

// elsewhere lets a program sell the stock by itself.
func (r *Runner) elsewhere(ctx context.Context, subject bench.Subject) (
	bench.Part, error) {
	work := bench.Assignment{Addresses: r.Servers.Addresses,
		Password: r.Servers.Password(), TTL: r.TTL, Clients: r.Clients,
		Turns: max(r.Ops, 1), Poll: r.Pause(subject, r.Servers.Embedded())}
	work.Lock, work.Stock = r.keys(subject)
	within, cancel := context.WithTimeout(ctx, r.limit()+r.Grace)
	defer cancel()
	part, err := subject.Sell(within, work)
	if err != nil && within.Err() != nil && ctx.Err() == nil { // nobody knows more
		return bench.Part{Absent: r.Clients, Took: r.limit()}, nil
	}
	return part, err
}

// row is what has happened.
func (r *Runner) row(subject bench.Subject,
	all *bench.Part) bench.Row {
	if r.Loop > 0 {
		// A grant after the end of the loop came only because the loop had ended.
		all.Stamps = slices.DeleteFunc(all.Stamps,
			func(s bench.Stamp) bool { return s.Entered >= int64(r.Loop) })
	}
	row := all.Row(subject, r.limit())
	row.Clients, row.InTableOf = r.Clients, r.Clients
	row.Services = max(r.Services, 1)
	row.PollMs = bench.Milliseconds(r.Pause(subject, r.Servers.Embedded()))
	row.FixedPoll = r.FixedPoll
	row.Turns, row.Stock = r.size(subject)
	row.Oversold = max(0, row.Sold-int64(row.Stock))
	inside := all.Most
	if r.Services > 1 {
		inside = max(inside, bench.MostInside(all.Stamps))
	}
	if !baselines[subject.Name].unlocked && subject.Open == nil {
		row.MaxHolders = &inside
	}
	if alone(subject) {
		row.Clients, row.Services, row.Jain = 1, 1, nil
	}
	if r.Loop > 0 {
		// Its clients are always cut off: by the end of the loop.
		row.LoopSeconds = new(r.Loop.Seconds())
		row.Turns = int(all.Sections + all.Failures)
		row.Finished = all.Absent == 0 && all.Took >= r.Loop
		row.Stuck = 0
	}
	return row
}
