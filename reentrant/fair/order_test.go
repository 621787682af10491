package fair_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/owners"
	"github.com/lockladder/lockladder/internal/queuetest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/fair"
)

// The catalogue's clients have one owner each. These scenarios have several
// owners in one process, and look at who is served when.

const (
	ttl    = 10 * time.Second
	second = time.Second
	milli  = time.Millisecond
)

// scenario is a world with processes.
type scenario struct {
	*lab.World
	t      *testing.T
	served []string // the owners that were granted the lock, in order
	at     map[string]time.Duration
}

// process is a client of the lab: one rdb value, several owners.
type process struct {
	*lab.Client
	scenario *scenario
	env      lock.Env
}

// play runs a scenario.
func play(t *testing.T, script func(s *scenario)) {
	t.Helper()
	config := lab.Config{Nodes: 1, Key: "stock", TTL: ttl, Latency: milli / 10}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &scenario{World: w, t: t, at: map[string]time.Duration{}}
		script(s)
		s.Play()
		assert.Empty(t, w.Failures())
		assert.Empty(t, w.Breaks(lab.TwoHolders))
		if t.Failed() {
			t.Log("\n" + w.Render(-1))
		}
	}))
}

// begin makes processes that are connected, to a server that knows the scripts.
func (s *scenario) begin(names ...string) (all []*process) {
	for _, name := range names {
		c := s.Client(name)
		p := &process{c, s, c.Env("stock")}
		all = append(all, p)
		p.Go(func() {
			l, err := fair.New(p.env.Nodes[0], "warm", ttl, p.env.Options...)
			require.NoError(s.t, err)
			assert.NoError(s.t, l.Lock(s.Context()))
			assert.NoError(s.t, l.Unlock(s.Context()))
		})
		s.Play()
	}
	s.Record()
	return all
}

// owner makes a handle and has it do something from a moment on.
func (p *process) owner(name string, at time.Duration,
	do func(name string, l *fair.Lock)) {
	l, err := fair.New(p.env.Nodes[0], "stock", ttl, p.env.Options...)
	require.NoError(p.scenario.t, err)
	p.Go(func() {
		p.Sleep(at)
		do(name, l)
	})
}

// works takes the lock at a moment, works and releases it.
func (p *process) works(name string, at, work time.Duration) {
	p.owner(name, at, func(name string, l *fair.Lock) {
		s := p.scenario
		if err := l.Lock(s.Context()); err != nil {
			assert.True(s.t, p.Dead(), "%s: %v", name, err)
			return
		}
		p.Step(name+" is in", func() {
			s.served, s.at[name] = append(s.served, name), s.Now()
		})
		p.Sleep(work)
		err := l.Unlock(s.Context())
		assert.True(s.t, err == nil || p.Dead(), "%s: %v", name, err)
	})
}

// givesUp waits for the lock for so long.
func (p *process) givesUp(at, patience time.Duration) {
	p.owner("", at, func(_ string, l *fair.Lock) {
		ctx, cancel := context.WithTimeout(p.scenario.Context(), patience)
		defer cancel()
		assert.ErrorIs(p.scenario.t, l.Lock(ctx), context.DeadlineExceeded)
	})
}

func (p *process) dies(at time.Duration) {
	p.Go(func() {
		p.Sleep(at)
		p.Step("dies", p.Crash)
	})
}

func (s *scenario) mutes(at time.Duration, mute bool) {
	o := s.Client("~")
	o.Go(func() {
		o.Sleep(at)
		o.Step("mutes", func() { s.Node(0).Mute(mute) })
	})
}

// questions counts the acquire commands of a process.
func (p *process) questions() (n int) {
	for _, e := range p.scenario.Timeline() {
		if e.Client == p.Name && strings.HasPrefix(e.Text, "EVALSHA acquire.lua") {
			n++
		}
	}
	return n
}

func TestWaitersAreServedInTheOrderOfArrival(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		var want []string
		for n := range 30 {
			name := fmt.Sprint(n)
			want = append(want, name)
			all[n*n%3].works(name, time.Duration(n)*10*milli, 50*milli)
		}
		s.Play()
		assert.Equal(t, want, s.served)
	})
}

// All wait for longer than a lease, and ask again meanwhile.
func TestAPlaceIsKeptWhileItsOwnerAsks(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		all[0].works("first", 0, 4*ttl)
		var want []string
		for n := range 9 {
			name := fmt.Sprint(n)
			want = append(want, name)
			all[n%3].works(name, time.Duration(n+1)*700*milli, second)
		}
		s.Play()
		assert.Equal(t, append([]string{"first"}, want...), s.served)
		for i, name := range want {
			assert.InDelta(t, (4*ttl + time.Duration(i)*second).Seconds(),
				s.at[name].Seconds(), 0.1, name)
		}
	})
}

// One asks and is refused, the second asks for all others, and one asks again
// when the subscription stands. Nobody asks before it has the turn.
func TestAThousandThatComeAtOnceAreAskedForTogether(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.works("first", 0, second)
		for n := range 100 {
			b.works(fmt.Sprint(n), milli, 0)
		}
		b.Go(func() {
			b.Sleep(second / 2)
			b.Step("looks", func() { assert.LessOrEqual(t, b.questions(), 3) })
		})
		s.Play()
		assert.Len(t, s.served, 101)
		assert.LessOrEqual(t, b.questions(), 103)
	})
}

func TestADeadWaiterCostsOneTurn(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.works("A", 0, 3*second)
		b.works("B", second, second)
		b.dies(2 * second)
		c.works("C", 2500*milli, second)
		s.Play()
		assert.Equal(t, []string{"A", "C"}, s.served)
		assert.InDelta(t, (3*second + ttl/20).Seconds(), s.at["C"].Seconds(), 0.1)
	})
}

// A thousand turns would be fifty leases.
func TestADeadProcessCostsTwoLeases(t *testing.T) {
	laddertest.Long(t, "it has 600 waiters")
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.works("A", 0, 3*second)
		for n := range 600 {
			b.works(fmt.Sprint("B", n), second, 0)
		}
		b.dies(2 * second)
		c.works("C", 2500*milli, second)
		s.Play()
		assert.Equal(t, []string{"A", "C"}, s.served)
		assert.Less(t, s.at["C"], second+2*ttl+ttl/20+100*milli)
	})
}

func TestAWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.works("A", 0, 3*second)
		b.givesUp(second, second)
		c.works("C", 1500*milli, second)
		s.Play()
		assert.InDelta(t, 3, s.at["C"].Seconds(), 0.1)
	})
}

// B does not hear that it has the turn, and gives up. C gets the turn from it.
func TestAWaiterThatGivesUpPassesItsTurnOn(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.mutes(2500*milli, true)
		s.mutes(3100*milli, false)
		a.works("A", 0, 3*second)
		b.givesUp(second, 2200*milli)
		c.works("C", 2*second, second)
		s.Play()
		assert.InDelta(t, 3.2, s.at["C"].Seconds(), 0.1)
	})
}

// B's network is slow when its turn comes. Neither TryLock nor Lock overtakes
// it.
func TestNobodyOvertakesTheTurn(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		b.Hold(2900*milli, 3300*milli, nil)
		a.works("A", 0, 3*second)
		b.works("B", second, second)
		c.works("C", 3100*milli, second)
		c.owner("", 3200*milli, func(_ string, l *fair.Lock) {
			granted, err := l.TryLock(s.Context())
			assert.NoError(t, err)
			assert.False(t, granted)
		})
		s.Play()
		assert.Equal(t, []string{"A", "B", "C"}, s.served)
		assert.InDelta(t, 3.3, s.at["B"].Seconds(), 0.1)
	})
}

// A's lease ends at 10 s. C asks first, and finds that B was there before it.
func TestTheFirstIsServedFirstAfterALeaseHasEnded(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.works("A", 0, ttl)
		a.dies(second)
		b.works("B", 1500*milli, second)
		c.works("C", 1600*milli, second)
		b.Hold(9900*milli, 10100*milli, nil)
		s.Play()
		assert.Equal(t, []string{"A", "B", "C"}, s.served)
		assert.Less(t, s.at["C"], 12*second)
	})
}

func TestAHolderEntersAgainWhoeverWaits(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner("A", 0, func(_ string, l *fair.Lock) {
			assert.NoError(t, l.Lock(s.Context()))
			a.Sleep(2 * second)
			assert.NoError(t, l.Lock(s.Context()))
			assert.NoError(t, l.Unlock(s.Context()))
			assert.NoError(t, l.Unlock(s.Context()))
		})
		b.works("B", second, second)
		s.Play()
		assert.InDelta(t, 2, s.at["B"].Seconds(), 0.1)
	})
}

// An owner that was told its turn asks itself. Were the neighbor that asks for
// others at that moment to queue it up as well, nobody would come for that turn,
// which takes half a second.
func TestOwnersThatComeAgainAtOnceLoseNoTurn(t *testing.T) {
	play(t, func(s *scenario) {
		a := s.begin("A")[0]
		for n := range 5 {
			a.owner(fmt.Sprint(n), time.Duration(n)*milli/3,
				func(_ string, l *fair.Lock) {
					for range 40 {
						assert.NoError(t, l.Lock(s.Context()))
						a.Sleep(milli / 5)
						assert.NoError(t, l.Unlock(s.Context()))
					}
				})
		}
		s.Play()
		assert.Less(t, s.Now(), ttl/20, "200 sections")
	})
}

func TestALostMessageCostsThePollOfTheFirst(t *testing.T) {
	play(t, func(s *scenario) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.mutes(2*second, true)
		s.mutes(4*second, false)
		a.works("A", 0, 3*second)
		b.works("B", second, second)
		c.works("C", 1500*milli, second)
		s.Play()
		for _, name := range []string{"B", "C"} {
			assert.Less(t, s.at[name], 3*second+ttl+2*second, name)
		}
	})
}

func build(env lock.Env) (lock.Lock, error) {
	return fair.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
}

func TestTheWaitersOfAProcess(t *testing.T) { queuetest.Processes(t, build) }

func TestTheLockIsHandedOver(t *testing.T) { queuetest.HandOver(t, build) }

// B2's question hangs, and nobody has asked for B3: the server hasn't heard of it.
func TestAWaiterThatWasNotAskedForLeavesWithoutACommand(t *testing.T) {
	owners.Run(t, owners.Config{Build: build, Processes: []string{"A", "B"}},
		func(s *owners.Scenario) {
			s.Owner("A1").Section(3 * second)
			s.Owner("B1").At(second).Section(second)
			s.Owner("B2").At(2*second).
				Fails(lab.Acquire, 1, lab.Fault{Deliver: 40 * second}).
				LocksWithin(60 * second).Unlocks()
			sent := func() int { return len(s.Process("B").Commands()) }
			before := 0
			s.Owner("B3").At(2100 * milli).Looks(func() { before = sent() }).
				GivesUp(ttl / 40).Looks(func() { assert.Equal(t, before, sent()) })
			s.Play()
		})
}
