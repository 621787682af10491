package lock_test

import (
	"fmt"
	"testing"
	"time"

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
	third := redis.NewClient(&redis.Options{Addr: "127.0.0.1:2"})
	defer third.Close()
	for why, bad := range map[string]any{ // clients, a key, a ttl or an option
		"the key is empty, a lock needs a name":               "",
		"the ttl is 0s, Redis needs at least 1ms":             time.Duration(0),
		"the ttl is 999.999µs, Redis needs at least 1ms":      time.Millisecond - 1,
		"the ttl is -1s, Redis needs at least 1ms":            -time.Second,
		"the ttl is 10.99ms, Redis counts whole milliseconds": 10990 * time.Microsecond,
		"there are no nodes, a lock needs at least one":       []redis.UniversalClient{},
		"client 2 of 2 is nil":                                []redis.UniversalClient{one[0], nil},
		"client 1 of 1 is nil":                                []redis.UniversalClient{(*redis.Client)(nil)},
		"client 3 is client 2 again, a majority needs independent nodes": []redis.UniversalClient{
			third, one[0], one[0]},
		"client 3 uses the server of client 2, 127.0.0.1:2: a majority needs independent nodes": append(
			nodes(t, 2), third),
		"an option is nil": lock.Option(nil),
		"the poll interval is 0s, it must be positive":             lock.PollEvery(0),
		"the poll interval is -1s, it must be positive":            lock.PollEvery(-time.Second),
		"the node timeout is 0s, it must be positive":              lock.NodeTimeout(0),
		"the node timeout is -1s, it must be positive":             lock.NodeTimeout(-time.Second),
		"the node timeout is 2s, it must not exceed the ttl of 1s": lock.NodeTimeout(2 * time.Second),
		"the clock or the source of tokens is nil":                 lock.Clock(nil),
	} {
		t.Run(why, func(t *testing.T) {
			nodes, key, ttl, option := one, "stock", time.Second, lock.FixedPoll()
			switch bad := bad.(type) {
			case []redis.UniversalClient:
				nodes = bad
			case string:
				key = bad
			case time.Duration:
				ttl = bad
			case lock.Option:
				option = bad
			}
			o, err := lock.Configure(nodes, key, ttl, []lock.Option{option})
			assert.Nil(t, o)
			require.ErrorIs(t, err, lock.ErrInvalid)
			assert.EqualError(t, err, "invalid argument: "+why)
		})
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

func TestConfigureHasDefaults(t *testing.T) {
	o, err := lock.Configure(nodes(t, 5), "stock", 10*time.Second, nil)
	require.NoError(t, err)
	assert.Equal(t, 500*time.Millisecond, o.NodeTimeout)
	assert.WithinDuration(t, time.Now(), o.Now(), time.Minute)
	assert.NotEqual(t, o.Token(), o.Token(), "every grant needs a token of its own")
	o, err = lock.Configure(nodes(t, 1), "stock", time.Millisecond, nil)
	require.NoError(t, err)
	assert.Equal(t, time.Millisecond, o.NodeTimeout,
		"a twentieth would be too short for any command")
}
