package exercise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// key and lease are those of the locks that are checked.
const (
	key   = "stock"
	lease = 10 * time.Second
)

// leases are those of the locks that are checked with several.
var leases = []time.Duration{lease, 1500 * time.Millisecond, 5 * time.Minute}

// Anywhere asks of every exercise's lock what few scenarios do: that it is at the
// server and not in the process, under its own name, for exactly its lease, and that
// its calls tell the truth at once.
func (e Exercise) Anywhere(t *testing.T, build lock.Build) error {
	nodes := locktest.Find(t, e.Rung).Nodes
	return withEachLease(func(ttl time.Duration) error {
		return inWorld(t, lab.Config{Nodes: nodes, TTL: ttl}, build, func(r *room) {
			p, q, dead := r.owner("P", key), r.owner("Q", key), r.owner("D", key)
			other := r.owner("Q", "another")
			steps := []step{try("of a free lock", p, true),
				try("of a lock that another process holds", q, false),
				try("of a lock of another name", other, true),
				release("of the lock of another name", other, nil),
				release("by the holder", p, nil),
				try("after an Unlock", q, true),
				release("by the next holder", q, nil),
				release("of a lock that nobody holds", p, lock.ErrNotHeld),
				try("once more", p, true),
				r.after(ttl/2, r.flush),
				try("when the server has lost the lock", q, true),
				release("by the last holder", q, nil)}
			if e.Rung != "bronze" { // which has no lease
				steps = append(steps,
					try("by a process that then dies", dead, true),
					r.after(ttl*99/100, r.client("D").Crash),
					try("before the lease of a dead process is over", q, false),
					r.after(ttl/50, func() {}),
					try("when the lease of a dead process is over", q, true))
			}
			r.steps(steps...)
		})
	})
}

// findsItsGrant loses the reply to an attempt and then, for a while, every command. The
// next attempt finds what the first was granted.
func findsItsGrant(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return withEachLease(func(ttl time.Duration) error {
		executed, down := false, false
		fate := func(client string, _ int, _ time.Duration) (lab.Fault, bool) {
			fault := lab.Fault{LoseReply: !executed, Refuse: executed}
			down := down && client == "P"
			executed = executed || down
			return fault, down
		}
		return inWorld(t, lab.Config{TTL: ttl, Fate: fate}, build, func(r *room) {
			p, q := r.owner("P", key), r.owner("Q", key)
			r.steps(try("of a free lock", p, true), // the server knows the script now
				release("by the holder", p, nil),
				r.after(0, func() { down = true }),
				step{when: "TryLock whose reply is lost", call: func(
					ctx context.Context) (bool, error) {
					if granted, err := p.TryLock(ctx); err == nil {
						return granted, errors.New("no error")
					}
					return false, nil
				}},
				r.after(0, func() { down = false }),
				try("after a lost reply, which is granted already,", p, true),
				release("of that lock", p, nil),
				try("after that Unlock", q, true))
		})
	})
}

// risesForever has a lock taken, left alone for an hour, and taken again.
func risesForever(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return inWorld(t, lab.Config{TTL: lease}, build, func(r *room) {
		p := r.owner("P", key)
		fenced, ok := p.(lock.Fenced)
		if !ok {
			r.Fail("the lock needs Token")
			return
		}
		var before uint64
		r.steps(try("of a free lock", p, true), release("by the holder", p, nil),
			r.after(time.Hour, func() { before = fenced.Token() }),
			try("an hour later", p, true),
			r.after(0, func() {
				if after := fenced.Token(); after <= before {
					r.Fail("an hour later the token is %d, after %d", after, before)
				}
			}))
	})
}

// eachReader has a reader that dies when it has the lock, and one that dies after a
// renewal.
func eachReader(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return withEachLease(func(ttl time.Duration) error {
		dies := func(at, ends time.Duration) error {
			return inWorld(t, lab.Config{TTL: ttl}, build, func(r *room) {
				q := r.owner("Q", key)
				p, ok := r.owner("P", key).(lock.ReadWrite)
				if !ok {
					r.Fail("the lock needs RLock, TryRLock and RUnlock")
					return
				}
				r.steps(step{"TryRLock of a free lock", p.TryRLock, true, nil},
					r.after(at, func() {
						if left := r.Lasting(); len(left) > 0 {
							r.Fail("a reader has the lock, and %q has no expiry", left)
						}
					}),
					r.after(ends-at-ttl/100, r.client("P").Crash),
					try("before a dead reader's lease is over", q, false),
					r.after(ttl/50, func() {}),
					try("when a dead reader's lease is over", q, true))
			})
		}
		if err := dies(0, ttl); err != nil {
			return err
		}
		return dies(ttl/2, ttl/3+ttl)
	})
}

// transacts says whether the lock sends WATCH or MULTI.
func (e Exercise) transacts(t *testing.T, build lock.Build) (does bool, err error) {
	config := lab.Config{Nodes: locktest.Find(t, e.Rung).Nodes, TTL: lease}
	err = inWorld(t, config, build, func(r *room) {
		l := r.owner("P", key)
		r.steps(try("of a free lock", l, true), release("by the holder", l, nil))
		for _, e := range r.Timeline() {
			command, _, _ := strings.Cut(strings.ToUpper(e.Text), " ")
			does = does || command == "WATCH" || command == "MULTI"
		}
	})
	return does, err
}

// inOneCommand takes the lock with its lease in one command.
func inOneCommand(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return oneCommand(t, build, lab.Config{TTL: lease})
}

// onAnOldServer does so on a server that is older than the options of SET.
func onAnOldServer(t *testing.T, build lock.Build, _ scenarios.Report) error {
	var old error
	seen := func(_ int, _ *server.Peer, command string, args []string) {
		if command == "SET" && len(args) > 2 {
			old = fmt.Errorf("this server's SET has no options: %q", args)
		}
	}
	err := oneCommand(t, build, lab.Config{TTL: lease, Seen: seen})
	return errors.Join(err, old)
}

// oneCommand counts the commands of an attempt that is refused.
func oneCommand(t *testing.T, build lock.Build, config lab.Config) error {
	return inWorld(t, config, build, func(r *room) {
		p, q := r.owner("P", key), r.owner("Q", key)
		r.steps(try("of a free lock", p, true),
			release("by the holder", p, nil),
			try("after an Unlock", p, true), // the server knows the script now
			try("of a lock that another process holds", q, false))
		if n := sent(r.Timeline(), "Q"); n > 1 {
			r.Fail("TryLock sent %d commands: take the lock and its lease in one", n)
		}
	})
}

// sent is how many commands a client has sent.
func sent(timeline []*lab.Entry, client string) (n int) {
	for _, e := range timeline {
		if e.Client == client && e.Node >= 0 {
			n++
		}
	}
	return n
}

// quietWaiters counts the commands that B sends while it waits. With polling, ten
// seconds would be some two hundred.
func quietWaiters(_ *testing.T, _ lock.Build, report scenarios.Report) error {
	const enough = 12
	for _, r := range report {
		if r.Scenario != "lost_wakeup" {
			continue
		}
		if n := sent(r.Sequence, "B"); n > enough {
			return fmt.Errorf("while it waited B sent %d commands, %d are"+
				" enough:\n\n%s", n, enough, r.Timeline)
		}
		return nil
	}
	return errors.New("lost_wakeup was not run")
}

// inOrder has the owners of two processes come one after the other, and looks in
// which order they are served. They wait for several leases in all.
func inOrder(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return withEachLease(func(ttl time.Duration) error {
		var came []string
		var sections []section
		for n := range 12 {
			// Now one of them has more that wait, now the other.
			process := []string{"P", "Q"}[n*n%5%2]
			name := fmt.Sprint(process, n)
			came = append(came, name)
			sections = append(sections, section{process, name,
				time.Duration(n) * ttl / 200, ttl / 5})
		}
		if err := play(t, build, ttl, sections, func(served []turn, _ int) error {
			if slices.Equal(came, owners(served)) {
				return nil
			}
			return fmt.Errorf("they came in the order %s, and were served in the"+
				" order %s", strings.Join(came, " "),
				strings.Join(owners(served), " "))
		}); err != nil {
			return err
		}
		return behindTheDead(t, build, ttl)
	})
}

// behindTheDead has a living waiter behind two that have died, and again behind one:
// each of these costs it a turn.
func behindTheDead(t *testing.T, build lock.Build, ttl time.Duration) error {
	lasts := ttl * 2 / 5
	sections := []section{{"P", "A", 0, lasts}, {"B", "B", ttl / 50, dies},
		{"C", "C", ttl / 40, dies}, {"P", "D", ttl / 30, lasts},
		{"E", "E", ttl / 25, dies}, {"Q", "F", ttl / 20, lasts}}
	return play(t, build, ttl, sections, func(served []turn, _ int) error {
		if got := strings.Join(owners(served), " "); got != "A D F" {
			return fmt.Errorf("the live owners A, D and F, in this order, were served"+
				" in the order %s", got)
		}
		for i, dead := range []time.Duration{2, 1} {
			waited := served[i+1].at - served[i].at - lasts
			if most := (dead + 2) * ttl / 20; waited > most {
				return fmt.Errorf("%s waited for %v behind %d dead waiters, %v"+
					" are enough", served[i+1].owner, waited, dead, most)
			}
		}
		return nil
	})
}

// handedOver has a process P with many owners and a process Q with one. The
// owners of P hand the lock over without asking the server each time, and Q gets
// it long before all of them are through: short sections are bounded by their
// number, long ones by the lease, which gets no younger when it is passed on.
func handedOver(t *testing.T, build lock.Build, _ scenarios.Report) error {
	return withEachLease(func(ttl time.Duration) error {
		short := handsOver(t, build, ttl, ttl/1000, 17+3)
		if short != nil {
			return short
		}
		return handsOver(t, build, ttl, ttl/10, 4+3) // 4: a third of the lease
	})
}

// handsOver has Q wait for a number of P's sections at most.
func handsOver(t *testing.T, build lock.Build, ttl, lasts time.Duration,
	patient int) error {
	const many = 41
	apart := ttl / 100_000 // Q asks when all of P have asked
	var sections []section
	for i := range many {
		sections = append(sections, section{"P", "P", time.Duration(i) * apart, lasts})
	}
	sections = append(sections, section{"Q", "Q", (many + 1) * apart, lasts})
	return play(t, build, ttl, sections, func(served []turn, sent int) error {
		var late, asked error
		if before := slices.Index(owners(served), "Q"); before > patient {
			late = fmt.Errorf("another process waited for %d sections of this"+
				" one, %d are enough", before, patient)
		}
		if lasts < ttl/100 && sent >= many { // no renewals
			asked = fmt.Errorf("the %d owners of a process sent %d commands:"+
				" each of them has asked the server", many, sent)
		}
		if err := errors.Join(late, asked); err != nil {
			return fmt.Errorf("sections of %v: %w", lasts, err)
		}
		return nil
	})
}

// section is what one owner does: it takes the lock, works and releases it.
type section struct {
	process   string
	owner     string
	at, lasts time.Duration
}

// dies is the length of a section that never comes: the process dies when its owner
// has waited for a hundredth of a lease.
const dies time.Duration = -1

// turn is when an owner was served.
type turn struct {
	owner string
	at    time.Duration
}

func owners(served []turn) (all []string) {
	for _, t := range served {
		all = append(all, t.owner)
	}
	return all
}

// play plays the sections of processes. Then judge is told in which order the
// owners were served, and how many commands P has sent.
func play(t *testing.T, build lock.Build, ttl time.Duration, sections []section,
	judge func(served []turn, sent int) error) error {
	var served []turn
	commands := 0
	err := inWorld(t, lab.Config{TTL: ttl}, build, func(r *room) {
		for _, s := range sections {
			l, c := r.owner(s.process, key), r.client(s.process)
			c.Go(func() {
				c.Sleep(s.at)
				err := l.Lock(r.Context())
				if c.Dead() {
					return
				}
				if err != nil {
					r.Fail("%s can't get the lock: %v", s.owner, err)
					return
				}
				c.Step("works", func() {
					served = append(served, turn{s.owner, r.Now()})
				})
				c.Sleep(s.lasts)
				if err := l.Unlock(r.Context()); err != nil {
					r.Fail("%s can't release the lock: %v", s.owner, err)
				}
			})
			if s.lasts == dies {
				z := r.client("Z")
				z.Go(func() {
					z.Sleep(s.at + ttl/100)
					c.Crash()
				})
			}
		}
		r.Play()
		commands = sent(r.Timeline(), "P")
	})
	if err != nil {
		return err
	}
	return judge(served, commands)
}

// withEachLease checks something with several leases.
func withEachLease(check func(ttl time.Duration) error) error {
	for _, ttl := range leases {
		if err := check(ttl); err != nil {
			return fmt.Errorf("with a lease of %v: %w", ttl, err)
		}
	}
	return nil
}
