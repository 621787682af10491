package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// The family of processes: several owners live in one, and some processes are
// farther away than others.

var _ = in(Process, "two_owners_one_process", Scenario{
	Summary: "A and A2 are owners in one process and share a client. A holds the lock until" +
		" 6 s. A2 tries at 1 s, and unlocks at 2 s without having the lock; B, in another" +
		" process, tries at 3 s. Also: A works for 15 s on a lease of 10 s, A2 gets the lock" +
		" at about 10 s, and A unlocks at 15 s. Also: a hook in the clients puts a tenant's" +
		" name before each key. A takes the lock without a deadline and works until 5 s. B's" +
		" Lock at 1 s has a deadline, and must go through the hook too.",
	Invariants: []string{TwoHolders, ForeignRelease},
	readable:   "the server doesn't show which of a session's owners has the lock",
}, func(s *S) {
	a := s.actor("A")
	a2, b := s.beside(a, "A2"), s.actor("B")
	s.play(a.holds(6*second, b.tried), func() {
		a2.at(second, a.has)
		a2.try()
		a2.at(2 * second)
		a2.release()
		a2.Step("looks", func() {
			if s.Owner() == "-" {
				s.Report(ForeignRelease, "A2 has unlocked what it didn't"+
					" have, and A's lock is gone")
			}
		})
	}, func() {
		b.at(3*second, a2.released)
		b.triesToPass()
	})
	s.judge(true, TwoHolders, ForeignRelease)
	s.World(func() {
		s.pollEvery(500 * time.Millisecond)
		a := s.actor("A")
		a2 := s.beside(a, "A2")
		s.play(func() {
			a.begins()
			a.at(15*second, a2.has)
			a.release()
			a.Step("looks", func() {
				if a2.depth > 0 && s.Owner() == "-" {
					s.Report(ForeignRelease, "A unlocks, and A2, which has the"+
						" lock since %.3f, has lost it", a2.grantedAt.Seconds())
				}
			})
		}, a2.waitsAndWorks(second, 30*second, 8*second))
		s.judge(a2.heldBefore(a.freedAt), ForeignRelease)
	})
	if s.exact() {
		s.next = append(s.next, later{s.tenantsLock, s.settings.forTenant()})
	}
})

var _ = in(Process, "other_name", Scenario{
	Summary: "A2 has a lock of another name until 6 s, which nobody else asks for. A, in its" +
		" process, tries to get the scenario's lock at 1 s, gets it, and unlocks at 5 s. B" +
		" tries at 3 s, and is refused.",
	Invariants: []string{Unavailable, TwoHolders},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.operate = func() {
		a2, err := s.apart(a, "A2", lock.SecondKey(s.Key, "other"))
		if err != nil {
			s.Fail("%w", err)
			return
		}
		a2.Go(func() {
			a2.mustAcquire()
			a2.at(6*second, a.released)
			a2.release()
		})
	}
	s.play(func() {
		a.at(second)
		if granted, err := a.try(); !granted {
			a.report(Unavailable, "only A2 has a lock, another one, and A's TryLock returns %v, %s",
				granted, outcome(err))
			return
		}
		a.at(5*second, b.tried)
		a.release()
	}, func() {
		b.at(3*second, a.tried)
		b.triesToPass()
	})
	s.judge(true, Unavailable, TwoHolders)
})

// tenantsLock is for a lock that sends some of its commands past the hooks of the
// client that it was given, such as those with a deadline.
func (s *S) tenantsLock() {
	a, b := s.actor("A"), s.actor("B")
	hooked := false
	s.Rewrite = func(words []any) { hooked = true; s.prefix(words, "tenant:") }
	s.start()
	if !hooked { // it brings a driver of its own
		s.run()
		s.judge(false, TwoHolders)
		return
	}
	s.run(func() {
		a.at(0)
		a.try()
		a.at(5 * second)
		if a.depth > 0 {
			a.release()
		}
	}, b.comes(second, 3*second, a.has))
	s.judge(true, TwoHolders)
}

// forTenant are the settings of a world in which a lock's keys have a prefix, and the
// driver does not look at deadlines.
func (s settings) forTenant() settings {
	keys, keeps := s.keys, s.keeps
	s.keys = func(name string) []string { return tenants(keys(name)) }
	s.keeps = func(name string) []string { return tenants(keeps(name)) }
	s.driver = func(o *redis.Options) { o.ContextTimeoutEnabled = false }
	return s
}

// tenants puts the prefix before keys.
func tenants(keys []string) (prefixed []string) {
	for _, key := range keys {
		prefixed = append(prefixed, "tenant:"+key)
	}
	return prefixed
}

// prefix puts a text before the keys of a command that name the scenario's lock.
func (s *S) prefix(words []any, with string) {
	if len(words) > 3 && strings.HasPrefix(fmt.Sprint(words[0]), "eval") {
		n, _ := words[2].(int)
		words = words[3:min(3+n, len(words))] // KEYS, and no ARGV
	}
	for i, word := range words {
		if key, ok := word.(string); ok && strings.Contains(key, s.Key) {
			words[i] = with + key
		}
	}
}

var _ = in(Process, "lost_lease_passed_on", Scenario{
	Summary: "A holds the lock, and A2 and A3 wait in its process. Just after a" +
		" renewal an operator deletes the lock, and B, in another process, takes it" +
		" and works until 12 s. A unlocks when it's told of the loss, if it is. A2" +
		" and A3 must not hold the lock together with B.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	s.pollEvery(s.sooner(second, 3*second)) // a waiter that asks during the deletion keeps B out
	a := s.actor("A")
	a2, a3, b := s.beside(a, "A2"), s.beside(a, "A3"), s.actor("B")
	s.play(func() {
		a.begins()
		a.overlaps()
		a.at(afterRenewal)
		if a.awaitLoss(afterRenewal+lease/2) > 0 {
			a.release()
		}
	}, a2.comes(second, 13*second, a.has), a3.comes(second, 13*second, a.has), func() {
		b.at(afterRenewal)
		b.Step("deletes", s.deleteLock)
		if granted, _ := b.try(); granted {
			b.at(12 * second)
			b.release()
		}
	})
	s.judge(b.has(), TwoHolders)
})

var _ = in(Process, "busy_neighbors", Scenario{
	Summary: "Four owners of process B take the lock again and again, for 10 ms each," +
		" and rest for about 10 ms. A, in another process, asks at 0.3 s and must get" +
		" the lock within 2 s.",
	Invariants: []string{Starvation},
}, func(s *S) {
	asks, patience := 300*time.Millisecond, s.patience(2*second)
	// Several nodes are asked one after the other.
	rests := 10 * time.Millisecond * time.Duration(s.settings.nodes)
	a, b := s.actor("A"), s.actor("B")
	scripts := []func(){func() {
		a.at(asks)
		a.mustGetIn(patience)
	}}
	for _, w := range []*actor{b, s.beside(b, "B2"), s.beside(b, "B3"), s.beside(b, "B4")} {
		scripts = append(scripts, func() {
			w.at(0)
			w.takeTurns(10*time.Millisecond, rests, asks+patience, a.has)
		})
	}
	s.play(scripts...)
	s.judge(true, Starvation)
})

// takeTurns takes the lock again and again, until a moment or until it's enough.
// The rests differ, so that no pattern lets in, or keeps out, a client that asks
// once in a while; and by microseconds from one actor to the next, so that two of
// a process never send at the same instant.
func (a *actor) takeTurns(works, rests, until time.Duration, enough func() bool) {
	for n := 0; !enough() && a.run.Now() < until; n++ {
		if a.acquire(lease) != nil {
			return
		}
		a.work(works)
		a.release()
		a.Sleep(rests*time.Duration(5+3*n%8)/8 + a.phase/1000)
	}
}

// mustGetIn waits for a lock that others take and give back all the time.
func (a *actor) mustGetIn(patience time.Duration) bool {
	asked := a.run.Now()
	if err := a.acquire(patience); err != nil {
		a.report(Starvation, "%s waits since %.3f while others get the lock again"+
			" and again: %s", a.Name, asked.Seconds(), outcome(err))
		return false
	}
	a.release()
	return true
}

var _ = in(Process, "far_process", Scenario{
	Summary: "A and B take the lock again and again, for 200 ms each, and rest for" +
		" about 300 ms. C is far away: commands and replies travel for 300 ms, so" +
		" that a round trip takes more than a twentieth of the lease. C asks three" +
		" times, and each time must get the lock within three leases. Also, where the" +
		" lock has readers: C reads, and A and B don't rest.",
	Invariants: []string{Starvation},
	exact:      "the wait of a far process is exact in virtual time only",
}, func(s *S) {
	if s.settings.nodes > 1 {
		// No node answers within a node timeout: nodes_down is about that.
		s.verdict(DoesNotArise, Starvation)
		return
	}
	if hasReaders := s.isFar(300*time.Millisecond, false); hasReaders {
		s.World(func() { s.isFar(0, true) })
	}
})

// isFar runs far_process. C gets in three times, perhaps to read, while A and B, which
// are near, rest for so long between their turns.
func (s *S) isFar(rests time.Duration, reads bool) (hasReaders bool) {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	far, done := c, false
	if reads {
		far = c.reads
	}
	near := func(w *actor) func() {
		return func() {
			w.at(0)
			w.takeTurns(200*time.Millisecond, rests, time.Hour, func() bool { return done })
		}
	}
	s.start()
	c.process.Far = 300 * time.Millisecond
	s.run(near(a), near(b), func() {
		c.at(second)
		for n := 0; n < 3 && far.mustGetIn(3*lease); n++ {
		}
		c.Step("is done", func() { done = true })
	})
	s.judge(true, Starvation)
	return c.readWrite() != nil
}
