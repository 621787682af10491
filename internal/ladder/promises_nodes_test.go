package ladder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What redlock promises about five nodes of which some refuse, and some don't
// answer.

// onNodes runs a test of a lock with several nodes, whose scripts they know.
func onNodes(t *testing.T, options []lock.Option, do func(p *promise)) {
	those(t, "redlock", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, options, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				p.a.Step("begins", func() { p.a.Begin(lab.Acquire) })
				do(p)
			})
		})
	})
}

// down makes the first nodes refuse every connection.
func (p *promise) down(nodes int) {
	p.a.Step("they go down", func() {
		for i := range nodes {
			p.Node(i).Refuse(true)
		}
	})
}

// takes makes B hold the lock on some nodes.
func (p *promise) takes(t *testing.T, nodes ...int) {
	env := p.b.Env("stock")
	p.b.Step("begins", func() { p.b.Begin(lab.Acquire) })
	for _, node := range nodes {
		assert.NoError(t, env.Nodes[node].SetNX(context.Background(), "stock",
			"B's", lease).Err())
	}
}

// asked counts A's attempts to take the lock at a node since a moment.
func (p *promise) asked(node int, since time.Duration) int {
	n := 0
	for _, e := range p.Timeline() {
		if e.Client == "A" && e.Node == node && e.At >= since &&
			strings.HasPrefix(e.Text, "SET") {
			n++
		}
	}
	return n
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
			onNodes(t, nil, func(p *promise) {
				p.down(c.down)
				p.takes(t, c.theirs...)
				granted, err := p.a.TryLock(context.Background())
				assert.False(t, granted)
				assert.NoError(t, err, "enough nodes answered")
			})
		})
	}
}

func TestTooFewAnswersAreAnError(t *testing.T) {
	onNodes(t, nil, func(p *promise) {
		p.down(3)
		granted, err := p.a.TryLock(context.Background())
		assert.False(t, granted)
		assert.ErrorContains(t, err, "closed pipe", "it says what went wrong")
	})
}

// A caller whose time is up learns that, although enough nodes have answered.
func TestAnAttemptThatIsCutShortIsAnError(t *testing.T) {
	onNodes(t, []lock.Option{lock.NodeTimeout(lease)}, func(p *promise) {
		p.takes(t, 0, 1)
		p.a.Step("slow", func() {
			p.a.Fault(lab.Acquire, 4, lab.Fault{Hang: true})
		})
		ctx, cancel := context.WithTimeout(context.Background(), lease/10)
		defer cancel()
		granted, err := p.a.TryLock(ctx)
		assert.False(t, granted)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A waiter that asked on would take nodes from the client that can still win.
func TestNobodyIsAskedWhenAMajorityIsOutOfReach(t *testing.T) {
	onNodes(t, nil, func(p *promise) {
		p.takes(t, 0, 1, 2)
		var at time.Duration
		p.a.Step("asks", func() { at = p.Now() })
		granted, err := p.a.TryLock(context.Background())
		assert.False(t, granted)
		assert.NoError(t, err)
		p.a.Step("looks", func() {
			assert.Equal(t, 1, p.asked(2, at))
			assert.Zero(t, p.asked(3, at))
			assert.Zero(t, p.asked(4, at))
		})
	})
}

// The smallest majority is enough to be released.
func TestAMajorityIsReleased(t *testing.T) {
	onNodes(t, nil, func(p *promise) {
		p.down(2)
		granted, err := p.a.TryLock(context.Background())
		assert.True(t, granted)
		assert.NoError(t, err)
		assert.NoError(t, p.a.release())
	})
}

// Two nodes say that the lock is not there, and three don't answer: they may have
// it.
func TestNobodyKnowsWhetherAMajorityHadIt(t *testing.T) {
	onNodes(t, nil, func(p *promise) {
		granted, err := p.a.TryLock(context.Background())
		assert.True(t, granted)
		assert.NoError(t, err)
		p.a.Step("an operator deletes it", func() {
			p.Node(3).Delete()
			p.Node(4).Delete()
		})
		p.down(3)
		err = p.a.release()
		assert.Error(t, err)
		assert.NotErrorIs(t, err, lock.ErrNotHeld)
	})
}

// The validity is what remains of the lease after the answers and the drift. One
// nanosecond is enough, and none is not.
func TestTheValidityMustBePositive(t *testing.T) {
	drift := lease/100 + 2*time.Millisecond
	options := []lock.Option{lock.Parallel(), lock.NodeTimeout(lease)}
	for left, granted := range map[time.Duration]bool{0: false, 1: true} {
		t.Run(left.String(), func(t *testing.T) {
			onNodes(t, options, func(p *promise) {
				p.a.Step("slow", func() {
					p.a.Always(lab.Fault{AnswerAfter: lease - drift - left})
				})
				got, err := p.a.TryLock(context.Background())
				assert.Equal(t, granted, got)
				assert.NoError(t, err)
			})
		})
	}
}

// A command that was left behind may still arrive, and a release that overtook it
// would leave the lock there: nothing is sent to a node that owes an answer. The
// driver's own settings are what leaves a command behind.
func TestANodeThatOwesAnAnswerIsAskedNothing(t *testing.T) {
	those(t, "redlock", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			_, done := p.driven(p.a, rung, lease, nil)
			p.a.Go(func() {
				defer done()
				p.a.Step("slow", func() {
					p.a.Begin(lab.Acquire)
					p.a.Fault(lab.Acquire, 1, lab.Fault{Hang: true})
				})
				granted, err := p.a.TryLock(context.Background())
				assert.False(t, granted)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				p.a.Step("looks", func() {
					assert.Equal(t, 1, p.a.Sent(lab.Acquire),
						"the release did not overtake the acquisition")
				})
			})
		})
	})
}
