package cohort_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// The catalogue's clients have one owner each. These stories have several owners
// in one process, for what happens between them no server sees.

const (
	key    = "stock"
	ttl    = 10 * time.Second
	second = time.Second
	milli  = time.Millisecond
)

// story is a world with processes.
type story struct {
	*lab.World
	t      *testing.T
	inside []*owner
	served []string // the owners that were granted the lock, in order
	tokens []uint64 // and their fencing tokens
	forgot bool     // the server has lost the lock

	drivers []*redis.Client // clients with settings of their own
}

// process is a client of the lab: one rdb value, several owners.
type process struct {
	*lab.Client
	story *story
	env   lock.Env
}

// owner is one handle, with a script of its own.
type owner struct {
	*process
	name  string
	lock  cohort.Fenced
	since time.Duration // when it was granted the lock
}

// tell tells a story, which calls begin and then Play, and then looks for what
// it may have left behind.
func tell(t *testing.T, scripts func(s *story)) {
	t.Helper()
	config := lab.Config{Nodes: 1, Key: key, TTL: ttl}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &story{World: w, t: t}
		scripts(s)
		for _, rdb := range s.drivers {
			assert.NoError(t, rdb.Close())
		}
		for _, b := range w.Breaks(lab.ForeignRelease) {
			t.Error(b)
		}
		for _, err := range w.Failures() {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("\n" + w.Render(-1))
		}
	}))
	inUse, listening := cohort.InUse()
	assert.Zero(t, inUse, "cohorts are left in the registry")
	assert.Zero(t, listening, "subscriptions are left in the registry")
}

func (s *story) process(name string) *process {
	c := s.Client(name)
	return &process{c, s, c.Env(key)}
}

// operator does something to the server at a moment.
func (s *story) operator(at time.Duration, what string, do func(n *lab.Node)) {
	o := s.Client("~")
	o.Go(func() {
		o.Sleep(at)
		o.Step(what, func() { do(s.Node(0)) })
	})
}

// owner makes a handle and starts its script. The phase of the n-th differs from
// all others: ties decide nothing.
func (p *process) owner(n int, script func(o *owner),
	opts ...lock.Option) *owner {
	l, err := cohort.NewFenced(p.env.Nodes[0], key, ttl,
		append(slices.Clone(p.env.Options), opts...)...)
	require.NoError(p.story.t, err)
	o := &owner{process: p, name: fmt.Sprint(p.Name, n), lock: l}
	p.Go(func() {
		o.Sleep(time.Duration(n) * milli)
		script(o)
	})
	return o
}

// at waits for a moment of the story.
func (o *owner) at(moment time.Duration) {
	if left := moment - o.story.Now(); left > 0 {
		o.Sleep(left)
	}
}

// acquire calls Lock and keeps the books.
func (o *owner) acquire() bool { return o.acquireWithin(time.Hour) == nil }

func (o *owner) acquireWithin(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(o.story.Context(), patience)
	defer cancel()
	err := o.lock.Lock(ctx)
	o.Step(o.name+" goes on", func() {
		o.Note("%s's Lock returns %v", o.name, err)
		if err == nil {
			o.enter()
		}
	})
	return err
}

// enter counts an owner among the holders. Two may not believe to hold the lock,
// and not in one process even when the server has lost it.
func (o *owner) enter() {
	s := o.story
	for _, other := range s.inside {
		if s.forgot && other.process != o.process {
			continue
		}
		select {
		case <-other.lock.Lost():
		default:
			assert.Fail(s.t, "two holders", "%s holds the lock, and %s was"+
				" never told that it lost it", o.name, other.name)
		}
	}
	o.since = s.Now()
	s.inside = append(s.inside, o)
	s.served = append(s.served, o.name)
	s.tokens = append(s.tokens, o.lock.Token())
}

func (o *owner) release() error {
	o.Step(o.name+" unlocks", o.leave)
	err := o.lock.Unlock(o.story.Context())
	o.Step(o.name+" has unlocked", func() {
		o.Note("%s's Unlock returns %v", o.name, err)
	})
	return err
}

func (o *owner) leave() {
	s := o.story
	s.inside = slices.DeleteFunc(s.inside, func(other *owner) bool {
		return other == o
	})
}

// section takes the lock, works and releases it.
func (o *owner) section(work time.Duration) {
	if o.acquire() {
		o.Sleep(work)
		assert.NoError(o.story.t, o.release(), o.name)
	}
}

// crash ends the process with all of its owners.
func (p *process) crash(at time.Duration) {
	p.Go(func() {
		p.Sleep(at)
		p.Step("dies", func() {
			p.story.inside = slices.DeleteFunc(p.story.inside,
				func(o *owner) bool { return o.process == p })
			p.Crash()
		})
	})
}

// lost waits until the owner is told that its lease is gone.
func (o *owner) lost() time.Duration {
	<-o.lock.Lost()
	o.Step(o.name+" is told", func() { o.Note("%s is told", o.name) })
	return o.story.Now()
}

// sent are the commands of a process, publish/subscribe left out.
func (p *process) sent() (commands []string) {
	for _, e := range p.story.Timeline() {
		if e.Client == p.Name && e.Command != "" &&
			!strings.Contains(e.Command, "SUBSCRIBE") {
			commands = append(commands, e.Text)
		}
	}
	return commands
}

// begin makes processes that have locked before, so that the server knows the
// scripts, and sets the clock to zero.
func (s *story) begin(names ...string) (all []*process) {
	for _, name := range names {
		p := s.process(name)
		all = append(all, p)
		p.warm()
	}
	s.Record()
	return all
}

// warm makes the server know the scripts, and connects the process.
func (p *process) warm() {
	s := p.story
	p.Go(func() {
		l, err := cohort.New(p.env.Nodes[0], key+":warm", ttl, p.env.Options...)
		require.NoError(s.t, err)
		require.NoError(s.t, l.Lock(s.Context()))
		p.Sleep(ttl * 2 / 5) // until it is renewed
		require.NoError(s.t, l.Unlock(s.Context()))
	})
	s.Play()
}

func TestAProcessHandsTheLockOverInTheOrderOfComing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.section(100 * milli) })
		}
		s.Play()
		assert.Equal(t, []string{"A1", "A2", "A3", "A4", "A5"}, s.served)
		assert.Len(t, a.sent(), 2, "one acquire, one release: %q", a.sent())
	})
}

// loop takes the lock again and again.
func (o *owner) loop(sections int, work time.Duration) {
	for range sections {
		o.section(work)
	}
}

// before is how many sections were granted before that owner's first one.
func (s *story) before(name string) int { return slices.Index(s.served, name) }

func TestAnotherProcessWaitsForSeventeenSectionsAtMost(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.loop(20, 10*milli) })
		}
		b.owner(1, func(o *owner) {
			o.at(12 * milli)
			o.loop(3, 10*milli)
		})
		s.Play()
		var theirs []int // sections of A between those of B
		count := 0
		for _, name := range s.served {
			count++
			if name == "B1" {
				theirs, count = append(theirs, count-1), 0
			}
		}
		assert.Equal(t, []int{17, 17, 17}, theirs, "%q", s.served)
		assert.Len(t, s.served, 103)
	})
}

func TestAnotherProcessWaitsForAThirdOfALeaseAndASection(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 3; n++ {
			a.owner(n, func(o *owner) { o.loop(5, 2*second) })
		}
		b.owner(1, func(o *owner) {
			o.at(100 * milli)
			o.section(second)
			assert.LessOrEqual(t, o.since, ttl/3+2*second)
		})
		s.Play()
		assert.Equal(t, 2, s.before("B1"), "%q", s.served)
		assert.Len(t, s.served, 16)
	})
}

func TestProcessesHaveTheLockInTurn(t *testing.T) {
	tell(t, func(s *story) {
		for _, p := range s.begin("A", "B", "C", "D") {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(20, 10*milli) })
			}
		}
		s.Play()
		require.Len(t, s.served, 240)
		var turns []string
		length := 0
		for i, name := range s.served {
			length++
			if i+1 == len(s.served) || s.served[i+1][0] != name[0] {
				turns = append(turns, fmt.Sprint(name[:1], length))
				length = 0
			}
		}
		assert.Equal(t, "A17 B17 C17 D17 A17 B17 C17 D17 A17 B17 C17 D17"+
			" A9 B9 C9 D9", strings.Join(turns, " "))
	})
}

// The 60 sections of a process are 4 leases. Nobody polls: each process asks
// when it is its turn.
func TestAWaitingProcessAsksWhenItIsItsTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C", "D")
		for _, p := range all {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(20, 10*milli) })
			}
		}
		s.Play()
		for _, p := range all {
			// An acquire and a release for each lease, refused once when it is
			// the others' turn, and once more when the subscription stands.
			assert.LessOrEqual(t, len(p.sent()), 3*4+1, "%q", p.sent())
		}
	})
}

func TestAProcessDiesInTheMiddleOfACohort(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.loop(9, 100*milli) })
		}
		a.crash(850 * milli)
		for n := 1; n <= 2; n++ {
			b.owner(n, func(o *owner) {
				o.at(time.Duration(50+n) * milli)
				o.section(100 * milli)
				assert.LessOrEqual(t, o.since, ttl+second, "A's lease is over")
			})
		}
		s.Play()
		assert.Equal(t, 9, s.before("B1"), "%q", s.served)
		assert.Equal(t, []string{"B1", "B2"}, s.served[9:])
	})
}

func TestAProcessThatDiesInTheQueueCostsOneTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(1, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		b.crash(2 * second)
		c.owner(1, func(o *owner) {
			o.at(2500 * milli)
			o.section(second)
			assert.InDelta(t, (3*second + ttl/20).Seconds(),
				o.since.Seconds(), 0.01)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C1"}, s.served)
	})
}

func TestWhoComesInADeadProcesssTurnWaitsForItsEnd(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		b.crash(2 * second)
		c.owner(3, func(o *owner) {
			o.at(3100 * milli)
			o.section(second)
			assert.Equal(t, 3*second+milli+ttl/20, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

func TestTryLockDoesNotQueue(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.False(t, granted)
		})
		c.owner(3, func(o *owner) {
			o.at(2 * second)
			o.section(second)
			assert.Equal(t, 3*second+milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

// B's network is slow when its turn comes. Nobody overtakes it.
func TestNobodyOvertakesWhoHasTheTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		b.Hold(2900*milli, 3200*milli, nil)
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			o.section(second)
			assert.Equal(t, 3200*milli, o.since)
		})
		c.owner(3, func(o *owner) {
			o.at(3100 * milli)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.False(t, granted)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B2"}, s.served)
	})
}

// B does not hear that it has the turn, and gives up. C gets the turn from it.
func TestWhoGivesUpPassesItsTurnOn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.operator(2500*milli, "mutes", func(n *lab.Node) { n.Mute(true) })
		s.operator(3100*milli, "unmutes", func(n *lab.Node) { n.Mute(false) })
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			assert.Error(t, o.acquireWithin(2200*milli))
		})
		c.owner(3, func(o *owner) {
			o.at(2 * second)
			o.section(second)
			assert.Equal(t, 3200*milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

func TestWhoGivesUpLeavesNoTurnBehind(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.operator(2500*milli, "mutes", func(n *lab.Node) { n.Mute(true) })
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			assert.Error(t, o.acquireWithin(2200*milli))
		})
		c.owner(3, func(o *owner) {
			o.at(3250 * milli) // the turn would have lasted until 3.5
			o.section(second)
			assert.Equal(t, 3250*milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

// B waits for A, and then has the lock for itself: 60 sections take 60 ms, over
// several leases. What B left at the server while it waited is gone.
func TestAProcessThatIsAloneIsNotHeldUp(t *testing.T) {
	for name, a1 := range map[string]func(o *owner){
		"A unlocks": func(o *owner) { o.section(10 * milli) },
		"A dies":    func(o *owner) { o.acquire() },
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				a, b := all[0], all[1]
				a.owner(1, a1)
				a.crash(20 * milli)
				var began, ended time.Duration
				for n := 2; n <= 3; n++ {
					b.owner(n, func(o *owner) {
						o.section(0)
						began = max(began, o.since)
						o.loop(30, milli)
						ended = s.Now()
					})
				}
				s.Play()
				assert.Equal(t, 60*milli, ended-began)
			})
		})
	}
}

func TestAMessageThatIsLostCostsOneTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		s.operator(0, "mutes", func(n *lab.Node) { n.Mute(true) })
		for n := 1; n <= 2; n++ {
			all[0].owner(n, func(o *owner) { o.loop(20, 10*milli) })
		}
		all[1].owner(1, func(o *owner) {
			o.at(20 * milli)
			o.section(10 * milli)
			assert.LessOrEqual(t, o.since, ttl+second)
		})
		s.Play()
		assert.Len(t, s.served, 41)
	})
}

// A1 works when the lease is lost, A2 and A3 wait for it. B takes the lock as soon
// as the server has it.
func TestALeaseIsLostInTheMiddleOfACohort(t *testing.T) {
	lose := map[string]struct {
		lose func(s *story, a *process)
		told time.Duration // A1, at the latest
	}{
		"an operator deletes the lock": {func(s *story, _ *process) {
			s.operator(4*second, "deletes", func(n *lab.Node) { n.Delete() })
			s.forgot = true
		}, ttl * 2 / 3},
		"the network is cut": {func(_ *story, a *process) {
			a.Hold(second, 30*second, nil)
		}, ttl},
	}
	for name, how := range lose {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				a, b := all[0], all[1]
				how.lose(s, a)
				a.owner(1, func(o *owner) {
					require.True(t, o.acquire())
					assert.LessOrEqual(t, o.lost(), how.told+100*milli)
					o.at(12 * second)
					_, err := o.lock.TryLock(s.Context())
					assert.ErrorIs(t, err, lock.ErrLost)
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
				})
				for n := 2; n <= 3; n++ {
					a.owner(n, func(o *owner) { o.section(second) })
				}
				b.owner(1, func(o *owner) {
					o.at(5 * second)
					require.True(t, o.acquire())
					o.at(14 * second)
					assert.NoError(t, o.release())
				})
				s.Play()
				assert.Equal(t, []string{"A1", "B1", "A2", "A3"}, s.served)
				assert.IsIncreasing(t, s.tokens, "fencing tokens")
			})
		})
	}
}

// The renewal's answer has told A1, whose Unlock comes after it. A2 must not be
// let in by it.
func TestAnUnlockAfterTheLossPassesNothingOn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		s.operator(3*second, "deletes", func(n *lab.Node) { n.Delete() })
		s.forgot = true
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.lost()
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		b.owner(1, func(o *owner) {
			o.at(3100 * milli)
			o.section(5 * second)
		})
		a.owner(2, func(o *owner) {
			o.at(3200 * milli)
			o.section(second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B1", "A2"}, s.served)
	})
}

// No renewal is answered, though the server executes them. The local clock tells,
// and a lease that the server still has is not believed in again.
func TestTheLocalClockTellsWhenTheServerDoesNot(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Always(lab.Fault{LoseReply: true})
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{AnswerAfter: milli})
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			assert.Equal(t, ttl+milli, o.lost(), "from when it was asked for")
			o.at(12 * second)
			o.Step("mends", func() { a.Always(lab.Fault{}) })
			_, err := o.lock.TryLock(s.Context())
			assert.ErrorIs(t, err, lock.ErrLost)
			assert.NoError(t, o.release(), "the server still had it")
		})
		a.owner(2, func(o *owner) {
			assert.Error(t, o.acquireWithin(time.Minute), "no answer")
			o.at(11 * second)
			assert.Error(t, o.acquireWithin(time.Minute), "no answer")
			o.at(13 * second)
			o.section(second)
			assert.Equal(t, 13*second, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

// A2 gets the lock when A1 has lost it. A1's late Unlock must not hit it.
func TestALateUnlockAfterTheLossReleasesNothing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		s.operator(3*second, "deletes", func(n *lab.Node) { n.Delete() })
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(5 * second)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
			assert.False(t, s.Node(0).Free())
		})
		a.owner(2, func(o *owner) {
			o.section(4 * second)
			assert.Less(t, o.since, 4*second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

// A2 is to give A1's lease up, and does not know that it is gone. B has the lock.
func TestALeaseThatIsGoneIsNotGivenUpForAnotherOnes(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		s.operator(second, "deletes", func(n *lab.Node) { n.Delete() })
		s.forgot = true
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(2 * second)
			assert.NoError(t, o.release(), "nobody has said otherwise")
		}, lock.FixedLease())
		a.owner(2, func(o *owner) { o.section(second) }, lock.FixedLease())
		b.owner(3, func(o *owner) {
			o.at(1100 * milli)
			o.section(5 * second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B3", "A2"}, s.served)
	})
}

// A1 unlocks in the instant in which its lease ends: a process that was stopped
// does so before its timer has told. To pass the turn on would be a lie.
func TestAnUnlockAtTheEndOfTheLeaseIsDenied(t *testing.T) {
	for range 50 {
		tell(t, func(s *story) {
			a := s.begin("A")[0]
			a.owner(1, func(o *owner) {
				require.NoError(t, o.lock.Lock(s.Context()))
				time.Sleep(ttl)
				assert.ErrorIs(t, o.lock.Unlock(s.Context()), lock.ErrNotHeld)
				<-o.lock.Lost()
			}, lock.FixedLease())
			a.owner(2, func(o *owner) { o.section(second) },
				lock.FixedLease())
			s.Play()
			assert.Equal(t, []string{"A2"}, s.served)
		})
	}
}

func TestEveryHolderHasAFencingTokenOfItsOwn(t *testing.T) {
	tell(t, func(s *story) {
		for _, p := range s.begin("A", "B") {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(10, 10*milli) })
			}
		}
		s.Play()
		assert.Len(t, s.tokens, 60)
		assert.IsIncreasing(t, s.tokens)
		assert.EqualValues(t, 1, s.tokens[0])
	})
}

func TestUnlockOfALockThatWasPassedOnReleasesNothing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(second)
			require.NoError(t, o.release())
			o.at(1500 * milli)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		a.owner(2, func(o *owner) { o.section(second) })
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
		assert.True(t, s.Node(0).Free())
	})
}

func TestWhoGivesUpLeavesNothingBehind(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		for n := 1; n <= 3; n++ {
			b.owner(n, func(o *owner) {
				o.at(second)
				err := o.acquireWithin(time.Duration(n) * 500 * milli)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, second+time.Duration(n)*500*milli, s.Now())
			})
		}
		c.owner(1, func(o *owner) {
			o.at(2 * second) // behind B
			o.section(second)
			assert.Equal(t, 3*second+milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C1"}, s.served)
	})
}

// A1 passes its turn on to A2, which is to ask for a lease of its own, and gives
// up at that moment. Which of the two comes first differs from run to run.
func TestALeaseThatNobodyTakesOverIsReleased(t *testing.T) {
	for range 50 {
		tell(t, func(s *story) {
			all := s.begin("A", "B")
			a, b := all[0], all[1]
			ctx, cancel := context.WithCancel(s.Context())
			a.owner(1, func(o *owner) {
				require.True(t, o.acquire())
				o.at(5 * second)
				o.leave()
				cancel()
				assert.NoError(t, o.lock.Unlock(s.Context()))
			}, lock.FixedLease())
			a.owner(2, func(o *owner) {
				assert.ErrorIs(t, o.lock.Lock(ctx), context.Canceled)
			}, lock.FixedLease())
			b.owner(1, func(o *owner) {
				o.at(5100 * milli)
				o.section(second)
				assert.Equal(t, 5100*milli, o.since)
			})
			s.Play()
		})
	}
}

func TestAFixedLeaseIsNotShared(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 3; n++ {
			a.owner(n, func(o *owner) {
				require.True(t, o.acquire())
				assert.Equal(t, ttl, s.Node(0).LeaseLeft(), o.name)
				o.Sleep(second)
				assert.NoError(t, o.release())
			}, lock.FixedLease())
		}
		s.Play()
		assert.Equal(t, []string{"A1", "A2", "A3"}, s.served)
	})
}

func TestAnOwnerHasTwoThirdsOfALeaseWhenItIsLetIn(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) {
				require.True(t, o.acquire())
				assert.Greater(t, s.Node(0).LeaseLeft(), ttl*2/3, o.name)
				if o.Sleep(1100 * milli); n == 5 {
					o.Sleep(4 * second)
				}
				assert.NoError(t, o.release())
			})
		}
		s.Play()
		var renewed []string
		for _, text := range a.sent() {
			if _, of, ok := strings.Cut(text, " renew.lua "); ok {
				renewed = append(renewed, of)
			}
		}
		assert.Equal(t, []string{"stock A#2 10000", "stock A#3 10000"},
			renewed, "a lease that was given up is not renewed")
	})
}

// A1's connection breaks when it has been granted the lock. A2 finds the grant,
// and not A1, which was told nothing.
func TestTheNextOwnerFindsAGrantThatWasNotAnswered(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{Deliver: 100 * milli,
			LoseReply: true})
		a.owner(1, func(o *owner) {
			granted, err := o.lock.TryLock(s.Context())
			assert.Error(t, err)
			assert.False(t, granted)
			o.at(2 * second)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
			o.at(10 * second)
			o.section(second)
		})
		a.owner(2, func(o *owner) {
			o.section(5 * second)
			assert.Less(t, o.since, second)
		})
		s.Play()
		assert.Equal(t, []string{"A2", "A1"}, s.served)
	})
}

// Alone, who was not answered finds itself.
func TestAnOwnerFindsItsOwnGrant(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
		a.owner(1, func(o *owner) {
			assert.Error(t, o.acquireWithin(second))
			o.section(second)
			assert.Less(t, o.since, second)
		})
		s.Play()
		assert.Equal(t, []string{"A1"}, s.served)
	})
}

// A1's second question is not answered, and its Lock returns. Its next Lock finds
// the place in the queue, before C.
func TestAnOwnerFindsItsPlaceInTheQueue(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		b.owner(1, func(o *owner) { o.section(3 * second) })
		a.owner(2, func(o *owner) {
			a.Begin(lab.Acquire) // a question, SUBSCRIBE, another question
			a.Fault(lab.Acquire, 3, lab.Fault{LoseReply: true})
			assert.Error(t, o.acquireWithin(second))
			o.at(2 * second)
			o.section(second)
			assert.Less(t, o.since, 3*second+10*milli)
		})
		c.owner(3, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		s.Play()
		assert.Equal(t, []string{"B1", "A2", "C3"}, s.served)
	})
}

// A1 was granted the lock and not answered. A2, which comes first now, knows
// nothing of that. When it gives up, A1 gives its own grant up for another one.
func TestAnOwnerGivesUpAGrantThatWasNotAnswered(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
		a.owner(1, func(o *owner) {
			_, err := o.lock.TryLock(s.Context())
			assert.Error(t, err)
			o.at(500 * milli)
			o.section(second)
			assert.Less(t, o.since, 1200*milli)
		})
		a.owner(2, func(o *owner) {
			o.at(100 * milli)
			assert.ErrorIs(t, o.acquireWithin(second), context.DeadlineExceeded)
		})
		s.Play()
		assert.Equal(t, []string{"A1"}, s.served)
	})
}

// B's turn is told before its subscription stands. It asks once more when that is
// confirmed.
func TestATurnThatWasToldTooEarlyIsNotMissed(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner(1, func(o *owner) { o.section(second) })
		b.owner(2, func(o *owner) {
			b.Begin(lab.Acquire) // a question, SUBSCRIBE
			b.Fault(lab.Acquire, 2, lab.Fault{Deliver: 2 * second})
			o.at(500 * milli)
			o.section(second)
			assert.Equal(t, 2*second, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B2"}, s.served)
	})
}

// The queue outlives the leases of those that wait in it.
func TestAShortLeaseWaitsForALongOne(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner(1, func(o *owner) { o.section(8 * second) })
		b.owner(2, func(o *owner) {
			l, err := cohort.New(b.env.Nodes[0], key, 100*milli,
				b.env.Options...)
			require.NoError(s.t, err)
			o.at(second)
			assert.NoError(t, l.Lock(s.Context()))
			assert.Equal(t, 8*second+milli, s.Now())
			assert.NoError(t, l.Unlock(s.Context()))
		})
		s.Play()
	})
}

func TestTryLockDoesNotOvertake(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		b.owner(1, func(o *owner) { o.section(2 * second) })
		a.owner(2, func(o *owner) { o.section(2 * second) })
		a.owner(3, func(o *owner) {
			for _, at := range []time.Duration{second, 3 * second} {
				o.at(at)
				granted, err := o.lock.TryLock(s.Context())
				assert.NoError(t, err)
				assert.False(t, granted)
			}
			o.at(5 * second)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.True(t, granted)
			assert.NoError(t, o.lock.Unlock(s.Context()))
		})
		s.Play()
		assert.Equal(t, []string{"B1", "A2"}, s.served)
	})
}

func TestAnOwnerEntersAgainWhileOthersWait(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			token := o.lock.Token()
			assert.NoError(t, o.lock.Lock(s.Context()))
			assert.Equal(t, token, o.lock.Token())
			o.Sleep(second)
			assert.NoError(t, o.lock.Unlock(s.Context()))
			o.Sleep(second)
			assert.NoError(t, o.release())
		})
		a.owner(2, func(o *owner) {
			o.section(second)
			assert.GreaterOrEqual(t, o.since, 2*second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

// Nobody has told the owner yet. The server does, when it asks.
func TestAnOwnerThatHasLostTheLockDoesNotEnterAgain(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		s.operator(second, "deletes", func(n *lab.Node) { n.Delete() })
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(2 * second)
			granted, err := o.lock.TryLock(s.Context())
			assert.False(t, granted)
			assert.ErrorIs(t, err, lock.ErrLost)
			assert.True(t, s.Node(0).Free())
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		s.Play()
	})
}

func TestASecondGoroutineInAHandleIsTurnedAway(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) { o.section(2 * second) })
		waits := a.owner(2, func(o *owner) { o.section(second) })
		a.owner(3, func(o *owner) {
			o.at(second)
			assert.ErrorIs(t, waits.lock.Lock(s.Context()), lock.ErrBusy)
			assert.ErrorIs(t, waits.lock.Unlock(s.Context()), lock.ErrBusy)
			_, err := waits.lock.TryLock(s.Context())
			assert.ErrorIs(t, err, lock.ErrBusy)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}
