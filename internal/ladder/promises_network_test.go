package ladder_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The rungs' promises about a network that is slow, or fails one command and not
// the next, and about a server that was tampered with.

// An inner Unlock that fails may not cost the outer one its release: the holder
// has two deferred Unlocks, and neither is called again.
func TestTheOutermostUnlockReleasesWhateverTheInnerOnesMet(t *testing.T) {
	for name, fault := range map[string]lab.Fault{
		"not sent":       {Refuse: true},
		"reply is lost":  {LoseReply: true},
		"reply too late": {AnswerAfter: 2 * lease},
	} {
		t.Run(name, func(t *testing.T) {
			promised(t, reentrant, func(p *promise) {
				ready(p.a).Locks().Locks().Fails(lab.Release, 1, fault).
					Unlocks(locktest.ErrUnknown).Unlocks().Finds(true).
					Works(5 * lease).Finds(true)
			})
		})
	}
}

// An Unlock without an answer may be called again: the id of the release stays the
// owner's until the next acquisition.
func TestAnOutermostUnlockThatFailsMayBeCalledAgain(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		ready(p.a).Locks().Fails(lab.Release, 1, lab.Fault{Refuse: true}).
			Unlocks(locktest.ErrUnknown).Finds(false).Unlocks().Finds(true)
	})
}

// Somebody's SET on the lock's name leaves a key of another type there, which is
// nobody's lock, and stays. The holder is told so at each level.
func TestAKeyOfAnotherTypeIsNobodysLock(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		rdb, ctx := p.b.Redis(), p.Context()
		set := func() {
			p.b.Step("an operator", p.Node(0).Delete)
			require.NoError(p.t, rdb.Set(ctx, locktest.Key, "a string", 0).Err())
		}
		stays := func() {
			assert.Equal(p.t, "a string", rdb.Get(ctx, locktest.Key).Val())
			require.NoError(p.t, rdb.Del(ctx, locktest.Key).Err())
		}
		var at time.Duration
		ready(p.a).Locks().Locks().Does(set).Unlocks(lock.ErrNotHeld).
			Unlocks(lock.ErrNotHeld).Does(stays).
			Locks().Does(set).Looks(func() { at = p.Now() }).Hears(func() {
			assert.Less(p.t, p.Now()-at, lease/2, "by the next renewal")
		}).Unlocks(lock.ErrNotHeld).Does(stays)
	})
}

// A server whose memory is full refuses a script that begins with HSET, as an acquisition
// of most rungs does. It leaves nothing behind.
func TestAHolderEntersAgainAndLeavesOnAFullServer(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		ready(p.a).Locks().
			Does(func() { p.b.Step("an operator", p.Node(0).Fill) }).
			Locks().Unlocks().Unlocks()
		b := p.b.At(lease)
		if p.rung.Name == "reentrant/readwrite" {
			b.Tries(true).Unlocks()
		} else {
			b.Tries(false, locktest.ErrUnknown).Finds(true)
		}
	})
}

// loses is the loss of the counter of the fencing tokens: it was evicted, or
// deleted by somebody.
func (p *promise) loses() {
	assert.NoError(p.t, p.b.Redis().Del(p.Context(),
		lock.SecondKey(locktest.Key, "token")).Err())
}

// The owner that is inside is still the owner.
func TestAnOwnerIsFoundWithoutTheCounterOfItsTokens(t *testing.T) {
	promised(t, fenced, func(p *promise) {
		var token uint64
		ready(p.a).Locks().Does(func() { token = p.a.Token() }).
			Does(p.loses).Locks().Does(func() {
			assert.Equal(p.t, token, p.a.Token(), "it is the same grant")
		}).Unlocks().Unlocks().
			Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, locktest.ErrUnknown).Does(p.loses).
			Tries(true). // it finds itself
			Does(func() { assert.Positive(p.t, p.a.Token()) }).Unlocks()
	})
}

// A counter that can't count grants nothing, and leaves no lock behind.
func TestACounterThatFailsLeavesTheLockFree(t *testing.T) {
	promised(t, counting, func(p *promise) {
		ready(p.a).Does(func() {
			require.NoError(p.t, p.b.Redis().Set(p.Context(),
				lock.SecondKey(locktest.Key, "token"), "no number", 0).Err())
		}).Tries(false, locktest.ErrUnknown).Finds(true)
	})
}

// Redlock's promises about five nodes of which some refuse, and some don't
// answer.

// onNodes runs a scenario of a lock with several nodes, whose scripts they know.
func onNodes(t *testing.T, script func(p *promise), options ...lock.Option) {
	promised(t, named("redlock"), func(p *promise) {
		ready(p.a)
		script(p)
	}, options...)
}

// down makes the first nodes refuse every connection.
func (p *promise) down(nodes int) {
	p.a.Looks(func() {
		for i := range nodes {
			p.Node(i).Refuse(true)
		}
	})
}

// takes makes B hold the lock on some nodes.
func (p *promise) takes(nodes ...int) {
	p.a.Does(func() {
		env := p.b.Env(locktest.Key)
		for _, node := range nodes {
			require.NoError(p.t, env.Nodes[node].SetNX(p.Context(), locktest.Key,
				"B's", lease).Err())
		}
	})
}

func TestARefusalByTheNodesIsNoError(t *testing.T) {
	for name, c := range map[string]struct {
		down   int
		theirs []int
	}{
		"all answer":   {0, []int{0, 1, 2}},
		"two are down": {2, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			onNodes(t, func(p *promise) {
				p.down(c.down)
				p.takes(c.theirs...)
				p.a.Tries(false) // enough nodes answered
			})
		})
	}
}

func TestTooFewAnswersAreAnError(t *testing.T) {
	onNodes(t, func(p *promise) {
		p.down(3)
		p.a.Does(func() {
			granted, err := p.a.Try()
			assert.False(p.t, granted)
			assert.ErrorContains(p.t, err, "closed pipe", "it says what went wrong")
		})
	})
}

// A caller whose time is up learns that, although enough nodes have answered.
func TestAnAttemptThatIsCutShortIsAnError(t *testing.T) {
	onNodes(t, func(p *promise) {
		p.takes(0, 1)
		p.a.Fails(lab.Acquire, 4, lab.Fault{Hang: true}).Does(func() {
			p.a.Begin(lab.Acquire)
			ctx, cancel := context.WithTimeout(p.Context(), lease/10)
			defer cancel()
			granted, err := p.a.Lock.TryLock(ctx)
			assert.False(p.t, granted)
			assert.ErrorIs(p.t, err, context.DeadlineExceeded)
		})
	}, lock.NodeTimeout(lease))
}

// A waiter that asked on would take nodes from the client that can still win.
func TestNobodyIsAskedWhenAMajorityIsOutOfReach(t *testing.T) {
	onNodes(t, func(p *promise) {
		var at time.Duration
		p.takes(0, 1, 2)
		p.a.Looks(func() { at = p.Now() }).Tries(false).Looks(func() {
			assert.Len(p.t, p.sends("A", 2, "SET", at), 1)
			assert.Empty(p.t, p.sends("A", 3, "SET", at))
			assert.Empty(p.t, p.sends("A", 4, "SET", at))
		})
	})
}

// Two nodes say that the lock is not there, and three don't answer: they may
// have it.
func TestNobodyKnowsWhetherAMajorityHadIt(t *testing.T) {
	onNodes(t, func(p *promise) {
		p.a.Tries(true).Looks(func() {
			p.Node(3).Delete()
			p.Node(4).Delete()
		})
		p.down(3)
		p.a.Unlocks(locktest.ErrUnknown)
	})
}

// A command that was left behind may still arrive, and a release that overtook
// it would leave the lock there: nothing is sent to a node that owes an answer.
// The driver's own settings are what leaves a command behind.
func TestANodeThatOwesAnAnswerIsAskedNothing(t *testing.T) {
	promised(t, named("redlock"), func(p *promise) {
		p.driven().Fails(lab.Acquire, 1, lab.Fault{Hang: true}).
			Tries(false, context.DeadlineExceeded).Looks(func() {
			assert.Equal(p.t, 1, p.a.Sent(lab.Acquire),
				"the release did not overtake the acquisition")
		})
	})
}
