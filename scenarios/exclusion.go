package scenarios

import (
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of plain exclusion: nothing fails, the lock is only used.

var mutualExclusion = Scenario{
	Name:   "mutual_exclusion",
	Family: Exclusion,
	Story: "Three clients take the lock three times each and work for 1 s" +
		" every time.",
	Invariants: []string{TwoHolders},
	tell: func(t *telling) {
		t.world(func(s *story) {
			sections := 0
			var scripts []func()
			for _, c := range s.cast("A", "B", "C") {
				scripts = append(scripts, func() {
					c.at(0)
					for range 3 {
						if c.acquire(2*time.Minute) != nil {
							return
						}
						sections++
						c.work(second)
						c.release()
					}
				})
			}
			s.play(scripts...)
			if sections != 9 && len(s.Failures()) == 0 {
				s.Fail("%d of 9 critical sections were entered", sections)
			}
			s.judge(TwoHolders, true)
		})
	},
}

// oversell is the inventory of seeds/003, small enough to be told every time:
// 1000 clients and a stock of 100 behave the same.
var oversell = Scenario{
	Name:   "oversell",
	Family: Exclusion,
	Story: "Twelve clients of four services buy from a stock of six: each reads" +
		" it, thinks, and writes back one less. Two of them think for 15 s on a" +
		" lease of 10 s.",
	Invariants: []string{LostUpdate},
	tell: func(t *telling) {
		clients, stock := 12, 6
		if t.settings.full {
			clients, stock = 1000, 100
		}
		t.world(func(s *story) {
			storage := s.Storage(stock)
			sold := 0
			var scripts []func()
			for i := range clients {
				c := s.actor(clientName(i, clients))
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
			if len(s.Breaks(LostUpdate)) == 0 && sold != stock &&
				len(s.Failures()) == 0 {
				s.Fail("%d of %d were sold to %d clients", sold, stock, clients)
			}
			s.judge(LostUpdate, true)
		}, pollEvery(second)) // eleven wait for half a minute
	},
}

// clientName is A, B, C while the letters last.
func clientName(i, of int) string {
	if of <= 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("C%04d", i)
}

// read and write go through the gate, like commands.
func (a *actor) read(storage *lab.Storage) (value, version int) {
	a.Step("reads", func() {
		value, version, _ = storage.Read(a.holding, a.token())
	})
	return value, version
}

func (a *actor) write(storage *lab.Storage, value, version int) (ok bool) {
	a.Step("writes", func() {
		ok = storage.Write(a.holding, a.token(), value, version)
	})
	return ok
}

var simultaneousTakeover = Scenario{
	Name:   "simultaneous_takeover",
	Family: Exclusion,
	Story: "A dies with the lock. When its lease is over, B and C try at the" +
		" same instant.",
	Invariants: []string{TwoHolders},
	tell: func(t *telling) {
		t.world(func(s *story) {
			a, b, c := s.mortal("A"), s.actor("B"), s.actor("C")
			takeover := func(x *actor) func() {
				return func() {
					x.Sleep(11*second - s.Now()) // no phases: that is the story
					x.try()
					x.work(second)
				}
			}
			s.play(func() {
				a.at(0)
				a.mustAcquire()
				a.crash()
			}, takeover(b), takeover(c))
			s.judge(TwoHolders, b.grantedAt > 0 || c.grantedAt > 0)
		})
	},
}
