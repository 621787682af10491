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

func TestAReaderSeesHalfOfAChangeThatComesBetweenTwoPages(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	list := catalog.List{RDB: rdb, Key: "{prices}"}
	require.NoError(t, list.Begin(t.Context()))
	change := sync.OnceFunc(func() { assert.NoError(t, list.Change(t.Context())) })
	rdb.AddHook(locktest.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if cmd.Name() == "hvals" {
			change()
		}
		return err
	}))
	_, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, half)
	price, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.False(t, half, "the change is over")
	assert.Equal(t, 1, price)
}
