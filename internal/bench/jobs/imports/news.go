package imports

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// news wakes a worker when there may be something to do.
type news struct {
	subscription *redis.PubSub
	woken        chan struct{} // an element when something was heard
	done         chan struct{}
}

// listen subscribes, and returns when the server has confirmed it.
func listen(ctx context.Context, q Queue) (*news, error) {
	n := &news{q.RDB.Subscribe(ctx, q.key(wake)), make(chan struct{}, 1),
		make(chan struct{})}
	if _, err := n.subscription.Receive(ctx); err != nil {
		n.subscription.Close()
		return nil, fmt.Errorf("subscribe to the queue: %w", err)
	}
	// With subscriptions: messages sent while the connection was down are lost,
	// so a new connection is news.
	heard := n.subscription.ChannelWithSubscriptions()
	go func() { // joined by close; a busy worker must not keep the server waiting
		defer close(n.done)
		for range heard {
			select {
			case n.woken <- struct{}{}:
			default:
			}
		}
	}()
	return n, nil
}

// wait returns at the next news, after d unless it is 0, or with the error of ctx.
func (n *news) wait(ctx context.Context, d time.Duration) error {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-n.woken:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (n *news) close() {
	n.subscription.Close()
	<-n.done
}
