package inventory_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestEveryRoundComesJustAfterTheSerialLimit(t *testing.T) {
	locktest.Long(t, "it measures in real time")
	r := embedded(t, 5, 5)
	r.Rounds = 3
	row := measure(t, r, subject(t, "gold"))

	require.Len(t, row.Rounds, 3)
	var ratios []float64
	for _, round := range row.Rounds {
		require.NotNil(t, round.Value("ratio_to_serial"))
		ratios = append(ratios, *round.Ratio())
	}
	slices.Sort(ratios)
	assert.Equal(t, ratios[1], *row.Ratio(), "the median is reported")
	assert.True(t, row.Complete())
	serial := measure(t, r, subject(t, "serial-limit"))
	assert.EqualValues(t, 1.0, serial.Rounds[0].Value("ratio_to_serial"))
	assert.EqualValues(t, 1000, serial.Value("sections"), "five turns say nothing")
	assert.EqualValues(t, 1000, serial.Value("sold"), "and all of them sell as well")
	assert.EqualValues(t, 5, serial.Value("table_clients"))
}

func TestRoundsThatAreCutOffAreLeftOut(t *testing.T) {
	locktest.Long(t, "it measures 2000 turns")
	r := embedded(t, 3, 3)
	r.Rounds = 3
	ctx, cancel := context.WithCancel(t.Context())
	// A thousand turns of the serial limit and three of the rung are a round;
	// the rung's second is cut off.
	var turns atomic.Int64
	r.Think = func(context.Context) {
		if turns.Add(1) == 2*1000+3+1 {
			cancel()
		}
	}
	row, err := r.Measure(ctx, subject(t, "gold"))
	require.NoError(t, err)
	assert.Len(t, row.Rounds, 1)
	assert.True(t, row.Finished(), "the one that was measured")
	assert.False(t, row.Complete())
}

func TestClientsTakeTurnsUntilTheLoopIsOver(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Loop, r.Poll = 50*time.Millisecond, time.Millisecond
	row := measure(t, r, subject(t, "gold"))
	assert.True(t, row.Finished())
	assert.GreaterOrEqual(t, *row.Number("seconds"), 0.05)
	assert.Greater(t, row.Count("sections"), 3)
	assert.EqualValues(t, 0.05, row.Value("loop_seconds"))
	assert.EqualValues(t, row.Count("sections"), row.Value("turns"))
	assert.Zero(t, row.Value("failures"), row.Value("first_failure"))
	assert.EqualValues(t, 1, row.Value("max_holders"))
}

func TestALoopThatIsInterruptedIsNotFinished(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Loop = forever / 2
	ctx, cancel := context.WithCancel(t.Context())
	r.Think = func(context.Context) { cancel() }
	row, err := r.Measure(ctx, subject(t, "gold"))
	require.NoError(t, err)
	assert.False(t, row.Finished())
}

func TestEveryClientTakesSoManyTurns(t *testing.T) {
	r := embedded(t, 3, 12)
	r.Ops = 4
	row := measure(t, r, subject(t, "gold"))
	assert.EqualValues(t, 12, row.Value("sections"))
	assert.EqualValues(t, 12, row.Value("turns"))
	assert.EqualValues(t, 12, row.Value("sold"))
	assert.EqualValues(t, 1.0, row.Value("jain"))
	assert.EqualValues(t, 12,
		measure(t, r, subject(t, "serial-limit")).Count("sections"))
}

func TestAChangeBetweenReadingAndTakingIsALostUpdate(t *testing.T) {
	r := embedded(t, 3, 9)
	r.Think = meeting(3)
	row := measure(t, r, subject(t, "no-lock"))
	assert.EqualValues(t, 2, row.Value("lost_updates"), "all but the first to take")
	r.Think = nil
	assert.Zero(t, measure(t, r, subject(t, "gold")).Value("lost_updates"))
}

func TestProgressIsThatOfTheRowUnderWay(t *testing.T) {
	r := embedded(t, 2, 2)
	var seen []inventory.Progress
	r.Think = func(context.Context) { seen = append(seen, r.Progress()) }
	measure(t, r, subject(t, "gold"))

	require.Len(t, seen, 2)
	assert.Equal(t, 0, seen[0].Sections)
	assert.Equal(t, 1, seen[1].Sections)
	assert.Equal(t, 2, seen[1].Turns)
	assert.Equal(t, 1, seen[0].Rounds)
	assert.Equal(t, inventory.Progress{}, r.Progress())
}

func TestAHolderFinishesAndReleasesWhenTheRunIsCanceled(t *testing.T) {
	for _, subject := range bench.Rungs() {
		t.Run(subject.Name, func(t *testing.T) {
			redis, servers := connected(t, nodes.Config{Clients: 5})
			ctx, cancel := context.WithCancel(t.Context())
			r := runner(servers, 5, 5)
			var key string
			build := subject.Build
			subject.Build = func(env lock.Env) (lock.Lock, error) {
				key = env.Key
				return build(env)
			}
			// The first holder cancels while the others wait. One of those may
			// be granted the lock by a command that is under way.
			r.Think = func(context.Context) {
				assert.True(t, redis.Exists(key))
				cancel()
			}
			row, err := r.Measure(ctx, subject)
			require.NoError(t, err)

			assert.Positive(t, row.Count("sections"))
			assert.Equal(t, row.Count("sections"), row.Count("sold"))
			assert.Equal(t, 5-row.Count("sold"), row.Count("left"))
			assert.EqualValues(t, 1, row.Value("max_holders"))
			assert.Zero(t, row.Value("failures"), row.Value("first_failure"))
			// Canceled between SETNX and PEXPIRE, silver leaves its lock.
			if subject.Name != "silver" {
				assert.False(t, redis.Exists(key), "the lock is released")
			}

			assert.NoError(t, servers.Close(ctx))
			assert.Empty(t, redis.Keys(), "nothing of the run is left")
		})
	}
}

func TestACanceledRowIsReportedWithWhatItDid(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := embedded(t, 5, 5)
	r.Think = func(context.Context) { cancel() }
	var granted atomic.Bool
	row, err := r.Measure(ctx, theirs(fake{
		acquire: func(ctx context.Context) error {
			if granted.CompareAndSwap(false, true) {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
		release: func(ctx context.Context) error { return ctx.Err() },
	}))
	require.NoError(t, err)

	assert.False(t, row.Finished())
	assert.EqualValues(t, 1, row.Value("sections"))
	assert.EqualValues(t, 1, row.Value("sold"))
	assert.EqualValues(t, 4, row.Value("left"))
	assert.Zero(t, row.Value("failures"), "the release has a context of its own")
	assert.EqualValues(t, 0.2, row.Value("jain"), "one of five was served")
}

func TestTheProgressSaysHowFarARowIs(t *testing.T) {
	assert.Equal(t, ": warming up", inventory.Progress{}.String())
	assert.Equal(t, ": 12 of 1000 turns, 1.3 s", inventory.Progress{Sections: 12,
		Turns: 1000, Elapsed: 1_260_000_000}.String())
}

func TestEmbeddedServersAreAskedLessOftenByManyClients(t *testing.T) {
	s := inventory.Settings{Clients: 1000, Poll: 5 * time.Millisecond}
	gold, redlock := subject(t, "gold"), subject(t, "redlock")
	assert.Equal(t, 5*time.Millisecond, s.Pause(gold, true), "as the user said")

	s.Poll = 0
	assert.Equal(t, time.Second, s.Pause(gold, true))
	assert.Equal(t, time.Second, s.Pause(bench.Subject{}, true))
	assert.Equal(t, 5*time.Second, s.Pause(redlock, true))
	assert.Equal(t, lock.DefaultPoll, s.Pause(gold, false))
	assert.Equal(t, time.Second, s.Pause(redlock, false))
	s.Clients = 20
	assert.Equal(t, lock.DefaultPoll, s.Pause(redlock, true))
}
