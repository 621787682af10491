package scenarios

import (
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of plain exclusion: nothing fails, the lock is only used.

var _ = in(Exclusion, "mutual_exclusion", Scenario{
	Summary:    "Three clients take the lock three times each and work for 1 s every time.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	var entered [3]int // critical sections, by each
	var scripts []func()
	for i, c := range s.cast("A", "B", "C") {
		scripts = append(scripts, func() {
			c.at(0)
			for range 3 {
				if c.acquire(2*time.Minute) != nil {
					return
				}
				entered[i]++
				c.work(second)
				c.release()
			}
		})
	}
	s.play(scripts...)
	// Not all nine: on several servers waiters can refuse each other for minutes.
	if slices.Contains(entered[:], 0) && len(s.Failures()) == 0 {
		s.Fail("A, B and C entered %v critical sections, each should enter one", entered)
	}
	s.judge(true, TwoHolders)
})

// oversell is the stock of [inventory], small enough to be run every time:
// 1000 clients and a stock of 100 behave the same.
var _ = in(Exclusion, "oversell", Scenario{
	Summary: "Twelve clients of four services buy from a stock of six: each reads" +
		" it, thinks, and writes back one less. Two of them think for 15 s on a" +
		" lease of 10 s.",
	Invariants: []string{LostUpdate},
}, func(s *S) {
	s.pollEvery(second) // eleven wait for half a minute
	const clients, stock = 12, 6
	storage := s.Storage(stock)
	sold := 0
	var scripts []func()
	for i := range clients {
		c := s.actor(string(rune('A' + i)))
		thinks := 200 * time.Millisecond
		if i == 0 || i == clients/2 {
			thinks = 15 * second
		}
		scripts = append(scripts, func() {
			c.at(0)
			if i > 0 { // a slow one first, or nothing is left to buy
				c.Until(s.actors[0].has, lease)
			}
			if c.acquire(time.Hour) != nil {
				return
			}
			left, version := c.read(storage)
			c.work(thinks)
			if left > 0 && c.write(storage, left-1, version) {
				sold++
			}
			c.release()
		})
	}
	s.play(scripts...)
	if len(s.Breaks(LostUpdate)) == 0 && sold != stock && len(s.Failures()) == 0 {
		s.Fail("%d of %d were sold to %d clients", sold, stock, clients)
	}
	s.judge(true, LostUpdate)
})

// read and write take their place in the order of events, like commands.
func (a *actor) read(storage *lab.Storage) (value, version int) {
	a.Step("reads", func() { value, version, _ = storage.Read(a.holding, a.token()) })
	return value, version
}

func (a *actor) write(storage *lab.Storage, value, version int) (ok bool) {
	a.Step("writes", func() {
		ok = storage.Write(a.holding, a.token(), value, version)
	})
	return ok
}

// buys reads the storage and writes back one less.
func (a *actor) buys(storage *lab.Storage) {
	left, version := a.read(storage)
	a.write(storage, left-1, version)
}

var _ = in(Exclusion, "simultaneous_takeover", Scenario{
	Summary: "A dies with the lock. When its lease is over, B and C try at the same" +
		" instant. Also, where C's attempt takes several commands: all after the first, the" +
		" second or the third reach the server 0.5 s later, while B works.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	if s.takeOver(0) == 1 {
		return
	}
	for late := 2; late <= 4; late++ {
		s.World(func() { s.takeOver(late) })
	}
})

// takeOver runs simultaneous_takeover. C's commands are late from one of them on, counted from 1;
// 0 means that none is: B and C, in step, may hide a mistake. It says how many C sends.
func (s *S) takeOver(late int) (commands int) {
	a, b, c := s.mortal("A"), s.actor("B"), s.actor("C")
	takeover := func(x *actor) func() {
		return func() {
			x.Sleep(11*second - s.Now()) // no phases: that is the scenario
			x.try()
			x.work(second)
		}
	}
	s.start()
	if late > 0 {
		c.everyTry(lab.Acquire, late,
			lab.Fault{Deliver: 11*second + second/2, Until: b.has, IfSent: true})
	}
	s.run(func() {
		a.begins()
		a.crash()
	}, takeover(b), takeover(c))
	s.judge(b.grantedAt > 0 || c.grantedAt > 0, TwoHolders)
	return c.Sent(lab.Acquire)
}

var _ = in(Exclusion, "born_together", Scenario{
	Summary: "A and B are built at the same instant, in two processes. A takes the" +
		" lock, and B is refused. C and then B, which hold nothing, unlock, and A's lock is" +
		" still there. (If C can free it, that counts in unlock_not_held only.)",
	Invariants: []string{TwoHolders, ForeignRelease},
	exact:      "real processes don't build their locks at the same instant",
}, func(s *S) {
	anybody := false // can free the lock
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	s.play(func() {
		a.born(second)
		a.at(2 * second)
		a.mustAcquire()
		a.at(6 * second)
		a.release()
	}, func() {
		b.born(second)
		b.at(3 * second)
		if granted, _ := b.try(); granted {
			return
		}
		b.at(5 * second)
		if !anybody {
			b.release()
		}
	}, func() {
		c.at(4 * second)
		c.release()
		c.Step("looks", func() { anybody = len(s.Breaks(ForeignRelease)) > 0 })
	})
	s.judge(true, TwoHolders, ForeignRelease)
	if anybody {
		s.verdict(DoesNotArise, ForeignRelease)
	}
})

// born builds the actor's handle anew, at a moment and not in the actor's phase.
func (a *actor) born(moment time.Duration) {
	a.Sleep(moment - a.run.Now())
	a.Step("is built", func() {
		var err error
		if a.lock, err = a.build(a.run.Key); err != nil {
			a.run.Fail("%w", err)
		}
	})
}
