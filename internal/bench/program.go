package bench

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// ProgramName is the name of the row of a program: the file that it was started with.
func ProgramName(args []string) string { return path.Base(args[len(args)-1]) }

// ProgramNodes is how many servers there must be, because a program says how many
// it needs only when it runs.
const ProgramNodes = 5

// Program is the row of a lock in any language: a program that speaks the protocol of
// docs/any-language.md. It is started, and takes a lock. If it can sell a stock by itself
// within the settings, it does that; otherwise each lock and unlock passes through a pipe.
// Errors wrap protocol.ErrMisbehaves, or say why it can't be started.
func (s *Servers) Program(ctx context.Context, args []string, sections int) (row Subject, err error) {
	p := protocol.New(args...)
	defer p.Close()
	began := time.Now()
	env := lock.Env{Key: s.Prefix("program") + "lock", TTL: DefaultTTL, Process: p}
	l, err := p.Build(s.outside(env, s.Nodes()))
	if err == nil {
		err = once(ctx, l)
	}
	if err != nil {
		return row, fmt.Errorf("-program: %w", err)
	}
	row = Subject{Name: ProgramName(args), Kind: Alternative, MostSections: protocol.MostSections}
	if sections <= protocol.MostSections && s.sells(ctx, args, 2*time.Since(began)+time.Second) {
		row.Nodes, row.Sell = p.Nodes(), Sells(args)
		return row, nil
	}
	row.Note = "each lock and unlock passes through a pipe: see docs/any-language.md"
	nodes := p.Nodes()
	row.Share = func(context.Context) (lock.Build, func(), error) {
		p := protocol.New(args...)
		return func(env lock.Env) (lock.Lock, error) {
			env.Process = p // one for all of them
			return p.Build(s.outside(env, nodes))
		}, p.Close, nil
	}
	return row, nil
}

// once takes and releases a lock.
func once(ctx context.Context, l lock.Lock) error {
	granted, err := l.TryLock(ctx)
	if err = cmp.Or(err, terminal.Wrong(!granted, "it doesn't get a free lock")); err != nil {
		return err
	}
	return l.Unlock(ctx)
}

// sells says whether a program sells one thing within that time. One that knows no such
// request ignores it.
func (s *Servers) sells(ctx context.Context, args []string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	prefix := s.Prefix("program")
	if s.nodes[0].Set(ctx, prefix+"stock", 1, time.Minute).Err() != nil {
		return false
	}
	sold, err := Sells(args)(ctx, Assignment{
		Env:      s.outside(lock.Env{Key: prefix + "lock", TTL: DefaultTTL}, s.Nodes()),
		Workload: protocol.Workload{Stock: prefix + "stock", Poll: lock.DefaultPoll, Owners: 1, Turns: 1}})
	return err == nil && sold.Taken == 1
}

// Sells lets a program sell the stock by itself, see Subject.Sell.
func Sells(args []string) func(context.Context, Assignment) (Counts, error) {
	return func(ctx context.Context, a Assignment) (part Counts, err error) {
		p := protocol.New(args...)
		defer p.Close()
		sold, err := p.Sell(ctx, a.Env, a.Workload)
		if err != nil {
			return part, err
		}
		part = Counts{Sections: int64(len(sold.Sections)), Bought: sold.Bought,
			Failures: sold.Failures, First: sold.Text}
		for _, times := range sold.Sections {
			stamp := Stamp{Asked: times[0] * 1000, Entered: times[1] * 1000, Left: times[2] * 1000}
			part.Stamps = append(part.Stamps, stamp)
			part.Took = max(part.Took, time.Duration(stamp.Left))
		}
		part.Most = MostInside(part.Stamps)
		return part, nil
	}
}

// outside is env with n nodes for a program, which connects to real ones by itself, and
// through a port where they are embedded, or further away than they are.
func (s *Servers) outside(env lock.Env, n int) lock.Env {
	env.Nodes, env.Dial = nil, nil
	if s.Embedded() || s.network != nil {
		env.Dial = s.Dial
	}
	for i := range min(n, len(s.nodes)) {
		if i == len(s.named) { // they are never dialed
			address := fmt.Sprintf("127.0.0.1:%d", i+1)
			if !s.Embedded() {
				address = s.Addresses[i]
			}
			s.named = append(s.named, redis.NewClient(&redis.Options{Addr: address, Password: s.config.Password}))
		}
		env.Nodes = append(env.Nodes, s.named[i])
	}
	return env
}
