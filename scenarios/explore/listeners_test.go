package explore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// asksWhoListens is a lock whose release leaves the key to a waiter, if PUBLISH reports
// one, and deletes it otherwise.
func asksWhoListens(release func(ctx context.Context, env lock.Env) error) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		rdb := env.Nodes[0]
		try := func(ctx context.Context) (bool, error) {
			return rdb.SetNX(ctx, env.Key, token(env), env.TTL).Result()
		}
		wait := func(ctx context.Context) error {
			if granted, err := try(ctx); granted || err != nil {
				return err
			}
			sub := rdb.Subscribe(ctx, env.Key+":released")
			defer sub.Close()
			events := sub.ChannelWithSubscriptions()
			for {
				var event any
				select {
				case <-ctx.Done():
				case event = <-events:
				}
				_, released := event.(*redis.Message)
				if err := ctx.Err(); err != nil || released {
					return err
				}
				if granted, err := try(ctx); granted || err != nil {
					return err
				}
			}
		}
		return locking{plainly{try, func(ctx context.Context) error {
			return release(ctx, env)
		}}, wait}, nil
	}
}

// lookingFirst releases with a script that asks who listens and decides.
func lookingFirst(ctx context.Context, env lock.Env) error {
	return env.Nodes[0].Eval(ctx, `if redis.call('PUBLISH', KEYS[1] .. ':released', 1) == 0`+
		` then redis.call('DEL', KEYS[1]) end return 1`, []string{env.Key}).Err()
}

// B gives up before its subscription is confirmed: nobody listens when A releases.
func TestAConnectionThatItsClientHasClosedIsOverForItsServer(t *testing.T) {
	program, _, actions, err := read("wait: A> A< A= B> B< B> Bg A>")
	require.NoError(t, err)
	err = inWorld(t, asksWhoListens(lookingFirst), Bounds{GiveUps: 1}, true,
		func(r *run) error {
			if r.program = program; r.begin() != nil {
				return r.failed()
			}
			for _, a := range actions {
				if _, err := r.take(a); err != nil {
					return err
				}
			}
			assert.True(t, r.free())
			return nil
		})
	require.NoError(t, err)
}

// lingering is a lock whose waiter keeps its subscription for three seconds. One select
// has the messages, a ticker on which the waiter asks again, and the end of those seconds.
func lingering(env lock.Env) (lock.Lock, error) {
	rdb, channel, name := env.Nodes[0], env.Key+":released", token(env)
	try := func(ctx context.Context) (bool, error) {
		return rdb.SetNX(ctx, env.Key, name, env.TTL).Result()
	}
	free := func(ctx context.Context) error {
		err := deleting(env)(ctx)
		rdb.Publish(ctx, channel, "")
		return err
	}
	listen := func(wakes chan<- struct{}, left <-chan struct{}) {
		sub := rdb.Subscribe(context.Background(), channel)
		defer sub.Close()
		events := sub.ChannelWithSubscriptions()
		ticker := time.NewTicker(lease / 3)
		defer ticker.Stop()
		var over <-chan time.Time
		for {
			select {
			case <-over:
				return
			case <-left:
				over, left = time.After(3*time.Second), nil
				continue
			case <-ticker.C:
			case <-events:
			}
			select {
			case wakes <- struct{}{}:
			default:
			}
		}
	}
	return locking{plainly{try, free}, func(ctx context.Context) error {
		granted, err := try(ctx)
		if granted || err != nil {
			return err
		}
		wakes, left := make(chan struct{}, 1), make(chan struct{})
		defer close(left)
		go listen(wakes, left)
		for !granted && err == nil {
			select {
			case <-wakes:
			case <-ctx.Done():
				return ctx.Err()
			}
			granted, err = try(ctx)
		}
		return err
	}}, nil
}

// A client that is done and still listens may be told something, and is then what its
// answers have made of it: it is not forgotten before it listens no more.
func TestAClientThatStillListensIsNotForgotten(t *testing.T) {
	locktest.Long(t, "it walks a graph twice")
	t.Parallel()
	walk := sameGraph(t, lingering, Bounds{Programs: []Program{Wait}})
	assert.NotZero(t, walk.Inferred)
}
