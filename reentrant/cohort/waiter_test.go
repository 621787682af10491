package cohort

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/reentrant/internal/waiters"
)

// The owner before lost the lock, and its id is spent. Another cohort of the process
// asks before the new owner does.
func TestOthersAskForTheIdThatTheNextOwnerAsksWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
		other := waiters.Join(rdb, "stock", "other", time.Second)
		own := waiters.Join(rdb, "stock", "spent", time.Second)
		own.Ask("spent")
		own.Answered(nil, time.Minute, time.Millisecond)
		own.Asks()
		l := &Lock{cohort: &cohort{waiter: own, id: "new"}}
		assert.Same(t, own, l.waiter())
		behind, _, _ := other.Ask("other")
		assert.Equal(t, []any{"new"}, behind)
		other.Leave(true)
		own.Leave(true)
		assert.NoError(t, rdb.Close())
	})
}
