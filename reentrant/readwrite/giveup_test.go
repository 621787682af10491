package readwrite_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/reentrant/readwrite"
)

// questions are the scripts that a client sends.
type questions struct {
	sent    atomic.Int64
	waiting chan struct{} // closed when the second one was answered
	third   func()        // called before the third one
}

func (q *questions) DialHook(next redis.DialHook) redis.DialHook { return next }

func (q *questions) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (q *questions) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}
		n := q.sent.Add(1)
		if n == 3 {
			q.third()
		}
		err := next(ctx, cmd)
		if n == 2 {
			close(q.waiting)
		}
		return err
	}
}

// The context ends when a waiter that was refused is about to ask again: its mark must
// not keep the others out for a lease.
func TestAWaiterThatIsCanceledWhileItAsksHoldsNobodyBack(t *testing.T) {
	server := miniredis.RunT(t)
	client := func() *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
		t.Cleanup(func() { rdb.Close() })
		return rdb
	}
	for name, waits := range map[string]func(*readwrite.Lock, context.Context) error{
		"a reader": (*readwrite.Lock).RLock, "a writer": (*readwrite.Lock).Lock,
	} {
		t.Run(name, func(t *testing.T) {
			owner := func(rdb *redis.Client) *readwrite.Lock {
				l, err := readwrite.New(rdb, name, time.Hour)
				require.NoError(t, err)
				return l
			}
			a := owner(client())
			require.NoError(t, a.Lock(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waiting := make(chan struct{})
			rdb := client()
			// The first is refused, the second follows the subscription, and the third
			// A's Unlock.
			rdb.AddHook(&questions{waiting: waiting, third: cancel})
			ended := make(chan error, 1)
			go func() { ended <- waits(owner(rdb), ctx) }()
			<-waiting
			require.NoError(t, a.Unlock(t.Context()))
			require.ErrorIs(t, <-ended, context.Canceled)
			for _, next := range []func(*readwrite.Lock) (bool, error){
				func(l *readwrite.Lock) (bool, error) {
					defer l.RUnlock(t.Context())
					return l.TryRLock(t.Context())
				},
				func(l *readwrite.Lock) (bool, error) {
					defer l.Unlock(t.Context())
					return l.TryLock(t.Context())
				},
			} {
				granted, err := next(owner(client()))
				assert.NoError(t, err)
				assert.True(t, granted)
			}
		})
	}
}
