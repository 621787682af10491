package ladder_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

func TestEveryRungSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{"": true}
	var steps []string
	for _, rung := range ladder.Rungs {
		if rung.Step > 0 {
			steps = append(steps, rung.Name)
		}
		parent, err := ladder.Find(rung.Parent)
		assert.True(t, err == nil && parent.Arc != rung.Arc || seen[rung.Parent],
			"the parent of %s precedes it, or is in another arc", rung.Name)
		assert.False(t, seen[rung.Name], "%s is there twice", rung.Name)
		seen[rung.Name] = true
		assert.NotEmpty(t, rung.Idea)
		assert.NotEmpty(t, rung.Arc.Asks())
		assert.Equal(t, rung.Arc == ladder.Safety, rung.Step > 0)
		assert.NotEmpty(t, rung.Flaws, "no lock is perfect")
	}
	for i, step := range flaws.Safety {
		assert.Equal(t, step.Rung, steps[i], "package flaws has the same arc of safety")
	}
}

func TestFindListsTheRungsWhenThereIsNoSuchOne(t *testing.T) {
	_, err := ladder.Find("lead")
	assert.ErrorContains(t, err, `there is no rung "lead", the rungs are bronze, silver, `)
	_, err = ladder.Find("gold/")
	assert.EqualError(t, err, `there is no rung "gold/", did you mean gold/script, gold?`)
}

// clientOf is one of a server that does not exist: nothing here sends a command.
func clientOf(t *testing.T, port int) redis.UniversalClient {
	rdb := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port)})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

func env(t *testing.T, nodes int) lock.Env {
	e := lock.Env{Key: "stock", TTL: 10 * time.Second}
	for port := range nodes {
		e.Nodes = append(e.Nodes, clientOf(t, port+1))
	}
	return e
}

// Package lock tests what else is refused.
func TestEveryRungRefusesBadArguments(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		for i, spoil := range []func(*lock.Env){
			func(e *lock.Env) { e.Key = "" },
			func(e *lock.Env) { e.TTL = 0 },
			func(e *lock.Env) { e.Nodes = nil },
			func(e *lock.Env) { e.Nodes[0] = (*redis.Client)(nil) },
			func(e *lock.Env) { e.Options = []lock.Option{nil} },
		} {
			e := env(t, rung.Nodes)
			spoil(&e)
			l, err := rung.Build(e)
			require.ErrorIs(t, err, lock.ErrInvalid, "%d", i)
			// A nil pointer in the interface would pass for a lock.
			assert.True(t, l == nil, "no lock comes with an error")
		}
	})
}

// Nothing would be left of such a lease when a majority has granted it.
func TestRedlockRefusesALeaseThatItsDriftTakes(t *testing.T) {
	rung, err := ladder.Find("redlock")
	require.NoError(t, err)
	e := env(t, rung.Nodes)
	e.TTL = 2 * time.Millisecond
	l, err := rung.Build(e)
	require.ErrorIs(t, err, lock.ErrInvalid)
	assert.EqualError(t, err, "invalid argument: the ttl is 2ms, and the drift"+
		" of clocks takes 2.02ms of it")
	assert.True(t, l == nil, "no lock comes with an error")
	e.TTL = 3 * time.Millisecond
	_, err = rung.Build(e)
	assert.NoError(t, err)
}

func TestEveryRungIsBuiltOfGoodArguments(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		l, err := rung.Build(env(t, rung.Nodes))
		require.NoError(t, err)
		require.NotNil(t, l)
		other, err := rung.Build(env(t, rung.Nodes))
		require.NoError(t, err)
		assert.NotSame(t, l, other, "each is an owner of its own")
		_, tells := l.(lock.LossNotifier)
		assert.Equal(t, rung.Renews, tells, "what renews tells of a loss")
	})
}
