package lock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
)

// nodes are clients of servers that do not exist: nothing here sends a command.
func nodes(t *testing.T, n int) []redis.UniversalClient {
	var all []redis.UniversalClient
	for port := range n {
		rdb := redis.NewClient(&redis.Options{
			Addr: fmt.Sprintf("127.0.0.1:%d", port+1)})
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		all = append(all, rdb)
	}
	return all
}

func TestConfigureRefuses(t *testing.T) {
	one := nodes(t, 1)
	clients := func(more ...redis.UniversalClient) []redis.UniversalClient { return more }
	var noClient *redis.Client
	var noCluster *redis.ClusterClient
	for _, c := range []struct {
		why   string
		nodes []redis.UniversalClient
		key   string
		ttl   time.Duration
		opt   lock.Option
	}{
		{"the key is empty, a lock needs a name", one, "", time.Second, lock.FixedPoll()},
		{"the ttl is 0s, Redis needs at least 1ms", one, "stock", 0, lock.FixedPoll()},
		{"the ttl is 999.999µs, Redis needs at least 1ms", one, "stock",
			time.Millisecond - 1, lock.FixedPoll()},
		{"the ttl is 10.99ms, Redis counts whole milliseconds", one, "stock",
			10*time.Millisecond + 990*time.Microsecond, lock.FixedPoll()},
		{"there are no nodes, a lock needs at least one", nil, "stock", time.Second,
			lock.FixedPoll()},
		{"client 2 of 2 is nil", clients(one[0], nil), "stock", time.Second,
			lock.FixedPoll()},
		{"client 1 of 1 is nil", clients(noClient), "stock", time.Second, lock.FixedPoll()},
		{"client 1 of 1 is nil", clients(noCluster), "stock", time.Second, lock.FixedPoll()},
		{"an option is nil", one, "stock", time.Second, nil},
		{"the poll interval is 0s, it must be positive", one, "stock", time.Second,
			lock.PollEvery(0)},
		{"the node timeout is 0s, it must be positive", one, "stock", time.Second,
			lock.NodeTimeout(0)},
		{"the node timeout is 2s, it must not exceed the ttl of 1s", one, "stock",
			time.Second, lock.NodeTimeout(2 * time.Second)},
		{"client 3 is client 2 again, a majority needs independent nodes",
			clients(redis.NewClient(&redis.Options{}), one[0], one[0]), "stock",
			time.Second, lock.FixedPoll()},
		{"client 3 uses the server of client 2, 127.0.0.1:2: a majority needs" +
			" independent nodes", append(nodes(t, 2),
			redis.NewClient(&redis.Options{Addr: "127.0.0.1:2"})), "stock",
			time.Second, lock.FixedPoll()},
		{"the clock or the source of tokens is nil", one, "stock", time.Second,
			lock.Clock(nil)},
		{"the clock or the source of tokens is nil", one, "stock", time.Second,
			lock.Tokens(nil)},
	} {
		o, err := lock.Configure(c.nodes, c.key, c.ttl, []lock.Option{c.opt})
		assert.Nil(t, o)
		require.ErrorIs(t, err, lock.ErrInvalid)
		assert.EqualError(t, err, "invalid argument: "+c.why)
	}
}

func TestOnlyAClientThatCanSubscribeAndBeToldApartIsTaken(t *testing.T) {
	plain := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"127.0.0.1:1"}})
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"a": "127.0.0.1:1"}})
	type labeled struct {
		redis.UniversalClient
		label any
	}
	for _, c := range []struct {
		name string
		rdb  redis.UniversalClient
		why  string
	}{
		{"a client", plain, ""},
		{"a cluster's client", cluster, ""},
		{"a value that can be compared", labeled{plain, "a"}, ""},
		{"a pointer to one that can't", &labeled{plain, []int{1}}, ""},
		{"a value that can't be compared", labeled{plain, []int{1}},
			"a lock_test.labeled can't be told from another one: pass a pointer"},
		{"a ring", ring, "a *redis.Ring can't subscribe to a lock's channel:" +
			" pass the shard's own client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lock.CanSubscribe(c.rdb)
			if c.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, lock.ErrInvalid)
			assert.EqualError(t, err, "invalid argument: "+c.why)
		})
	}
	for _, rdb := range []redis.UniversalClient{plain, cluster, ring} {
		assert.NoError(t, rdb.Close())
	}
}

func TestConfigureTakesTheSmallestLease(t *testing.T) {
	o, err := lock.Configure(nodes(t, 1), "stock", time.Millisecond, nil)
	require.NoError(t, err)
	assert.Equal(t, time.Millisecond, o.NodeTimeout,
		"a twentieth would be too short for any command")
}

func TestConfigureHasDefaults(t *testing.T) {
	o, err := lock.Configure(nodes(t, 5), "stock", 10*time.Second, nil)
	require.NoError(t, err)
	assert.Equal(t, 500*time.Millisecond, o.NodeTimeout)
	assert.False(t, o.FixedLease)
	assert.False(t, o.Parallel)
	assert.WithinDuration(t, time.Now(), o.Now(), time.Minute)

	first, second := o.Token(), o.Token()
	assert.NoError(t, uuid.Validate(first))
	assert.NotEqual(t, first, second, "every grant needs a token of its own")
}

func TestOptionsAreApplied(t *testing.T) {
	then := time.Date(2023, 1, 20, 0, 0, 0, 0, time.UTC)
	o, err := lock.Configure(nodes(t, 1), "stock", 10*time.Second,
		[]lock.Option{
			lock.FixedLease(),
			lock.Parallel(),
			lock.NodeTimeout(time.Second),
			lock.Clock(func() time.Time { return then }),
			lock.Tokens(func() string { return "A#1" }),
		})
	require.NoError(t, err)
	assert.True(t, o.FixedLease)
	assert.True(t, o.Parallel)
	assert.Equal(t, time.Second, o.NodeTimeout)
	assert.Equal(t, then, o.Now())
	assert.Equal(t, "A#1", o.Token())
}
