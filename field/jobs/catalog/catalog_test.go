package catalog_test

import (
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/jobs/catalog"
	"github.com/lockladder/lockladder/internal/locktest"
)

// between is a list whose client does something once, after it has read a page.
func between(t *testing.T, do func(list catalog.List)) catalog.List {
	server := miniredis.RunT(t)
	client := func() *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { rdb.Close() })
		return rdb
	}
	list := catalog.List{RDB: client(), Key: "{prices}"}
	require.NoError(t, list.Begin(t.Context()))
	other := list
	once := sync.OnceFunc(func() { do(other) })
	list.RDB = client()
	list.RDB.AddHook(locktest.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if cmd.Name() == "hvals" {
			once()
		}
		return err
	}))
	return list
}

func TestAReaderSeesHalfOfAChangeThatComesBetweenTwoPages(t *testing.T) {
	list := between(t, func(other catalog.List) {
		assert.NoError(t, other.Change(t.Context()))
	})
	_, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, half)
	price, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.False(t, half, "the change is over")
	assert.Equal(t, 1, price)
}
