package lab_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

const milli = time.Millisecond

// far is stageFor with servers that are ten milliseconds away.
func far(t *testing.T, script func(s *stage)) {
	t.Helper()
	config := aWorld
	config.Latency = 10 * milli
	stageIn(t, config, script)
}

func TestACommandAndItsReplyAreOnTheirWayForTheLatency(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Go(func() {
			s.a.rdb.Set(s.Context(), key, "a", 0)
			assert.Equal(t, 20*milli, s.Now())
			assert.Equal(t, 10*milli, s.Timeline()[0].At)
		})
	})
}

func TestAMessageIsOnItsWayForTheLatency(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Go(func() {
			pubsub := s.a.rdb.Subscribe(s.Context(), "news")
			defer pubsub.Close()
			_, err := pubsub.Receive(s.Context())
			require.NoError(t, err)
			_, err = pubsub.Receive(s.Context())
			require.NoError(t, err)
			assert.Equal(t, second+20*milli, s.Now())
		})
		s.b.Go(func() {
			s.b.Sleep(second)
			s.b.rdb.Publish(s.Context(), "news", "one")
		})
	})
}

// A lease runs from when the command is executed, and the client's own deadline
// from before it was sent: the command was on its way in between.
func TestAGrantThatIsAskedForIsItsOwnersAlthoughItBeganLater(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Go(func() {
			pipe := s.a.rdb.Pipeline()
			pipe.SetNX(s.Context(), key, "a", 0)
			pipe.PExpire(s.Context(), key, second)
			pipe.Del(s.Context(), key)
			_, err := pipe.Exec(s.Context())
			assert.NoError(t, err)
			assert.Empty(t, s.Broken())
		})
	})
}

func TestACommandThatHangsEndsWithItsContext(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Begin(lab.Acquire)
		s.a.Fault(lab.Acquire, 1, lab.Fault{Hang: true})
		s.a.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context(), 3*second)
			defer cancel()
			err := s.a.rdb.Set(ctx, key, "a", 0).Err()
			assert.True(t, errors.Is(err, context.DeadlineExceeded) ||
				errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
			assert.Equal(t, 3*second, s.Now())
			assert.False(t, s.Unfired())
			assert.NoError(t, s.a.rdb.Set(s.Context(), key, "b", 0).Err(),
				"the next one takes another connection")
			assert.Equal(t, "b", s.a.rdb.Get(s.Context(), key).Val())
		})
	})
}

func TestAFateThatWasNotMetIsUnfired(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Begin(lab.Acquire)
		s.a.Fault(lab.Acquire, 2, lab.Fault{LoseReply: true, IfSent: true})
		assert.False(t, s.Unfired(), "the scenario is the same without it")
		s.a.Fault(lab.Acquire, 3, lab.Fault{LoseReply: true})
		s.a.Go(func() { s.a.rdb.Get(s.Context(), key) })
		s.Play()
		assert.True(t, s.Unfired())
	})
}

// The node's clock gains a second in ten, so a lease of ten seconds ends early.
func TestANodesClockCanRunAtAnotherRate(t *testing.T) {
	far(t, func(s *stage) {
		s.Node(0).Drift(1.1)
		s.a.Go(func() {
			s.a.rdb.Set(s.Context(), key, "a", 10*second)
			assert.InDelta(t, 10/1.1-0.01, s.Node(0).LeaseLeft().Seconds(), 0.01)
			s.a.Sleep(9 * second)
			assert.False(t, s.Node(0).Free())
			s.a.Sleep(200 * milli)
			assert.True(t, s.Node(0).Free())
		})
	})
}

func TestTwoOwnersOfOneClientAreTwoHolders(t *testing.T) {
	far(t, func(s *stage) {
		s.a.EnterAs("A1", nil)
		s.a.EnterAs("A1", nil)
		assert.Empty(t, s.Breaks(lab.TwoHolders), "an owner may enter again")
		s.a.LeaveAs("A1")
		s.a.EnterAs("A2", nil)
		assert.Empty(t, s.Breaks(lab.TwoHolders))
		s.a.EnterAs("A1", nil)
		assert.Len(t, s.Breaks(lab.TwoHolders), 1)
	})
}

// A driver that sends without waiting knows the replies by their order, so the
// answer to a keep-alive must not overtake the one before it.
func TestAKeepAliveDoesNotOvertakeAReply(t *testing.T) {
	far(t, func(s *stage) {
		s.a.Go(func() {
			pipe := s.a.rdb.Pipeline()
			set := pipe.Set(s.Context(), key, "a", 0)
			ping := pipe.Ping(s.Context())
			_, err := pipe.Exec(s.Context())
			assert.NoError(t, err)
			assert.Equal(t, "OK", set.Val())
			assert.Equal(t, "PONG", ping.Val())
		})
	})
}
