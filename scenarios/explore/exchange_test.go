package explore

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/lock"
)

// token is a new token of a client, such as "A#1".
func token(env lock.Env) string {
	o := &lock.Options{}
	for _, set := range env.Options {
		set(o)
	}
	return o.Token()
}

// named is gold for clients that know their own names from their tokens.
func named(try func(ctx context.Context, name string, rdb redis.UniversalClient,
	env lock.Env) (bool, error), frees func(name string) bool) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		name, _, _ := strings.Cut(token(env), "#")
		return plainly{
			func(ctx context.Context) (bool, error) {
				return try(ctx, name, env.Nodes[0], env)
			},
			func(ctx context.Context) error {
				if !frees(name) {
					return nil
				}
				return deleting(env)(ctx)
			},
		}, nil
	}
}

// sets takes the lock with a value.
func sets(value func(name string) string) func(ctx context.Context, name string,
	rdb redis.UniversalClient, env lock.Env) (bool, error) {
	return func(ctx context.Context, name string, rdb redis.UniversalClient,
		env lock.Env) (bool, error) {
		return rdb.SetNX(ctx, env.Key, value(name), env.TTL).Result()
	}
}

// Clients that differ in more than their names are not taken for each other: the graph
// is that of which every edge was taken.
func TestClientsThatDifferAreNotExchanged(t *testing.T) {
	t.Parallel()
	always := func(string) bool { return true }
	isNotB := func(name string) bool { return name != "B" }
	for what, build := range map[string]lock.Build{
		"B asks first": named(func(ctx context.Context, name string,
			rdb redis.UniversalClient, env lock.Env) (bool, error) {
			if name == "B" {
				rdb.Get(ctx, env.Key)
			}
			return rdb.SetNX(ctx, env.Key, "locked", env.TTL).Result()
		}, always),
		"B never frees":  named(sets(func(string) string { return "locked" }), isNotB),
		"everybody is A": named(sets(func(string) string { return "A" }), always),
		"another name":   named(sets(func(name string) string { return name + "1" }), always),
		"the smaller name may take": named(func(ctx context.Context, name string,
			rdb redis.UniversalClient, env lock.Env) (bool, error) {
			has, err := rdb.Get(ctx, env.Key).Result()
			if err == nil && has <= name {
				return false, nil
			}
			return true, rdb.Set(ctx, env.Key, name, env.TTL).Err()
		}, always),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			walk := sameGraph(t, build, Bounds{Attempts: 2, Programs: []Program{Once}})
			assert.Zero(t, walk.Exchanged)
		})
	}
}

// Clients that differ only in their names are exchanged, which saves a third of the steps
// of two clients, or more.
func TestClientsThatAreAlikeAreExchanged(t *testing.T) {
	t.Parallel()
	bounds := Bounds{Expiries: 1, Attempts: 1, Programs: []Program{Once}}
	rung := laddertest.Find(t, "platinum")
	with, err := explore(t, rung.Build, bounds, true, search)
	require.NoError(t, err)
	without, err := explore(t, rung.Build, bounds, true, func(r *run) (Walk, error) {
		walk, unlike, err := searchWith(r, r.exchanges().none())
		assert.False(t, unlike)
		return walk, err
	})
	require.NoError(t, err)
	assert.NotZero(t, with.Walks[0].Exchanged)
	assert.Zero(t, without.Walks[0].Exchanged)
	assert.Equal(t, outline(without.Walks[0]), outline(with.Walks[0]))
	assert.Less(t, with.Walks[0].Steps, without.Walks[0].Steps*2/3)
}

// What an exchange makes of a finding names the clients of its schedule.
func TestAFindingNamesTheClientsOfItsSchedule(t *testing.T) {
	laddertest.Long(t, "it walks with three clients")
	t.Parallel()
	rung := laddertest.Find(t, "silver")
	report := Run(t, rung.Build, Bounds{Clients: 3, Expiries: 1, Attempts: 1,
		Programs: []Program{Once}})
	found := 0
	for _, invariant := range Invariants {
		f, ok := report.Failure(invariant)
		if !ok {
			continue
		}
		found++
		broken := Replay(t, rung.Build, Bounds{Clients: 3}, f.Schedule).Broken
		assert.Contains(t, broken, Breach{invariant, f.Event})
	}
	assert.Greater(t, found, 3)
}

func TestNamesAreExchangedWhereTheyStandAlone(t *testing.T) {
	x := exchangesOf(3, 0, 3)
	require.Len(t, x.all, 6)
	for i, e := range x.all {
		for j, f := range x.all {
			both := x.all[x.after[i][j]]
			assert.Equal(t, both.text("A B C"), e.text(f.text("A B C")))
		}
	}
	turned := &exchange{client: []uint8{1, 2, 0}}
	assert.Equal(t, "B#1 has the lock, C: [\"A#12\"], AB ALL A1 a_B D E",
		turned.text("A#1 has the lock, B: [\"C#12\"], AB ALL A1 a_B D E"))
	assert.Len(t, exchangesOf(3, 1, 3).all, 2)
	assert.Len(t, exchangesOf(26, 0, 26).all, 24)
}
