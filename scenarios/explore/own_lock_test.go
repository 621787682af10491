package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/explore"
)

type myLock struct {
	rdb redis.UniversalClient
	env scenarios.Env
}

func (l myLock) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, l.env.Key, "me", l.env.TTL).Result()
}

// The explorer does not call it: it asks again itself.
func (l myLock) Lock(ctx context.Context) error { return errors.ErrUnsupported }

// A key that is gone needs no DEL. What if it is gone a moment later?
func (l myLock) Unlock(ctx context.Context) error {
	if n, err := l.rdb.Exists(ctx, l.env.Key).Result(); n == 0 {
		return errors.Join(err, lock.ErrNotHeld)
	}
	return l.rdb.Del(ctx, l.env.Key).Err()
}

func TestMyLock(t *testing.T) {
	build := func(env scenarios.Env) (scenarios.Lock, error) {
		return myLock{env.Nodes[0], env}, nil
	}
	report := explore.Run(t, build, explore.Bounds{Expiries: 1,
		Programs: []explore.Program{explore.Once}})
	t.Log(report)
	f, found := report.Failure(explore.ForeignRelease)
	if !found {
		t.Fatal("somebody has fixed it")
	}
	t.Log(explore.Replay(t, build, explore.Bounds{}, f.Schedule).Timeline)
}
