package catalog_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/jobs/catalog"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
)

func TestMain(m *testing.M) {
	laddertest.CollectLess()
	laddertest.OneProcessor()
	os.Exit(m.Run())
}

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
	list.RDB.AddHook(after{func(cmd redis.Cmder) {
		if cmd.Name() == "hvals" {
			once()
		}
	}})
	return list
}

// after calls a function after each command.
type after struct{ call func(redis.Cmder) }

func (a after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		a.call(cmd)
		return err
	}
}

func (a after) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
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

func TestAScriptLeavesNothingBetweenTwoPages(t *testing.T) {
	list := between(t, func(catalog.List) { t.Error("there is no HVALS") })
	require.NoError(t, list.ChangeAtOnce(t.Context()))
	price, half, err := list.ReadAtOnce(t.Context())
	require.NoError(t, err)
	assert.False(t, half)
	assert.Equal(t, 1, price)
}

func TestAChangeThatDoesNotKnowOfAnotherLosesIt(t *testing.T) {
	list := between(t, func(catalog.List) {})
	require.NoError(t, list.Change(t.Context()))
	require.NoError(t, list.Change(t.Context()))
	price, _, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, price, "one after the other")
}
