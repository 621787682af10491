package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// warm lets every actor take and release a lock that no scenario is about, twice. A cold script
// would answer NOSCRIPT and be a command of its own; so the first time is long enough for a
// renewal. The second time the commands are counted.
func (s *S) warm() {
	var keys []string
	for _, a := range s.actors {
		keys = append(keys, s.settings.keys(s.warmKey(a))...)
	}
	s.Rehearse(keys)
	for _, a := range s.actors {
		a.Go(func() {
			if err := a.warmUp(); err != nil {
				s.Fail("%w", unready{err})
			}
		})
		if !s.Exact() {
			continue // there is no order to keep, and time is short
		}
		s.Play()
		if len(s.Failures()) > 0 {
			return // the others would say the same
		}
	}
	s.Play()
}

// unready is the error of an actor that can't take and release a free lock. A real server
// on a busy machine may answer too late for a lock that asks with a deadline.
type unready struct{ error }

func (u unready) Unwrap() error { return u.error }

// warmUp is warm for one actor, which then gets its lock.
func (a *actor) warmUp() error {
	if err := a.process.Connect(context.Background()); err != nil {
		return fmt.Errorf("%s can't connect: %w", a.Name, err)
	}
	l, err := a.build(a.run.warmKey(a))
	if err != nil {
		return err
	}
	side := l
	if a.Name == a.run.settings.reader {
		side = lab.ReadSide{Of: l.(lock.ReadWrite)}
	}
	for _, work := range []time.Duration{a.run.lease() * 2 / 5, 0} {
		began := time.Now()
		if err := a.rehearse(side, work); err != nil {
			return cmp.Or(a.late(err, time.Since(began)), err)
		}
	}
	if err := a.warmReads(l); err != nil {
		return err
	}
	if a.apart && !a.process.Apart() {
		return a.startProcess()
	}
	a.lock, err = a.build(a.run.Key)
	return err
}

// build makes the actor's owner of the lock of a name.
func (a *actor) build(key string) (lock.Lock, error) {
	env := a.process.EnvOf(a.owner, key, a.run.allOptions()...)
	if a.run.settings.story != nil && a.other != "" {
		env.TTL *= 2 // the lease of one lock is not another one's
	}
	return lab.Build(a.run.build, env)
}

// errRefused is the reason why a lock isn't granted, where there is no error.
var errRefused = errors.New("it is refused")

// rehearse takes a lock, releases it after some time, and counts the commands.
func (a *actor) rehearse(l lock.Lock, work time.Duration) error {
	ctx := context.Background()
	a.Step("warms up", func() { a.Begin(lab.Acquire) })
	if granted, err := l.TryLock(ctx); err != nil || !granted {
		return fmt.Errorf("%s: a free lock on a healthy server is not granted to %s: %w",
			Unavailable, a.Name, cmp.Or(err, errRefused))
	}
	a.acquires = a.Sent(lab.Acquire)
	a.grants = cmp.Or(a.Decided(lab.Acquire), 1)
	a.Sleep(work)
	a.renews = cmp.Or(a.Decided(lab.Renewal), 1)
	a.Step("warms up", func() { a.Begin(lab.Release) })
	if err := l.Unlock(ctx); err != nil {
		return a.unreleased(err)
	}
	a.releases = a.Sent(lab.Release)
	a.frees = cmp.Or(a.Decided(lab.Release), 1)
	a.Step("warms up", func() { a.Begin(lab.Renewal) })
	return nil
}

// late says so where a learner's numbers make the lease end, or a deadline pass, before the
// replies are back: that's no mistake of the lock.
func (a *actor) late(err error, took time.Duration) error {
	ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	if c := a.run.settings.change; c.Lease+c.Latency == 0 || !ended && took < a.run.TTL {
		return nil
	}
	return fmt.Errorf("with a lease of %v and a latency of %v, %s can't take and release a free lock"+
		" in time: choose a longer lease or a shorter latency", a.run.TTL, a.run.Latency, a.Name)
}

// unreleased says what is wrong where an actor can't release the lock that it was
// granted, on a healthy server.
func (a *actor) unreleased(err error) error {
	s, invariant, still := a.run, FalseLoss, ""
	if s.readable() && slices.ContainsFunc(s.settings.keys(s.warmKey(a)), func(key string) bool {
		return s.Node(0).Observe(key).Exists
	}) {
		invariant, still = Orphaned, ", and the server still has it"
	}
	return fmt.Errorf("%s: %s can't release a lock that it holds%s: Unlock returns %w",
		invariant, a.Name, still, err)
}

// allOptions are the locks' options: the scenario's, and then a change's.
func (s *S) allOptions() []lock.Option {
	return slices.Concat(s.options, s.settings.change.options())
}

// warmKey names the lock that warms an actor up. In a Redis Cluster it lies
// where the scenario's lock does: the others have not seen the scripts.
func (s *S) warmKey(a *actor) string {
	if !s.Exact() {
		return lock.SecondKey(s.Key, "warm:"+a.owner)
	}
	return s.Key + ":warm:" + a.owner
}

// kept are the Redis keys that the locks of the scenario declare to keep forever.
func (s *S) kept() []string {
	kept := s.settings.keeps(s.Key)
	for _, name := range s.others {
		kept = append(kept, s.settings.keeps(name)...)
	}
	for _, a := range s.actors {
		kept = append(kept, s.settings.keeps(s.warmKey(a))...)
	}
	return kept
}
