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
