package etcd_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/lock"
)

// at are the servers at some addresses.
func at(addrs ...string) (config clientv3.Config) {
	for _, addr := range addrs {
		config.Endpoints = append(config.Endpoints, "http://"+addr)
	}
	return config
}

func TestAServerThatCanNotBeUsedIsOneLine(t *testing.T) {
	refused := func(t *testing.T, config clientv3.Config, causes ...string) {
		t.Helper()
		config.Password = "secret"
		_, err := etcd.Open(t.Context(), config)
		storetest.OneLine(t, err, append(causes, config.Endpoints...)...)
	}
	t.Run("nobody listens", func(t *testing.T) {
		refused(t, at("127.0.0.1:1"), "can't be reached", "refused")
	})
	t.Run("nobody listens anywhere", func(t *testing.T) {
		refused(t, at("127.0.0.1:1", "127.0.0.1:2"), "can't be reached",
			"127.0.0.1:1: connect: ", "127.0.0.1:2: connect: ")
	})
	t.Run("no address", func(t *testing.T) {
		refused(t, at(), "there is no address")
	})
	t.Run("it does not answer", func(t *testing.T) {
		t.Parallel()
		server := start(t)
		require.NoError(t, server.Pause())
		refused(t, at(server.Addr()), "can't be used", "deadline exceeded")
	})
	t.Run("it does not check a password", func(t *testing.T) {
		t.Parallel()
		server := start(t)
		require.NoError(t, server.Pause())
		config := at(server.Addr())
		config.Username, config.Password = "root", "secret"
		config.DialTimeout = time.Minute
		bar, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := etcd.Open(bar, config)
		assert.ErrorContains(t, err, "can't be used: context deadline exceeded")
		assert.ErrorContains(t, err, server.Addr())
		assert.NoError(t, bar.Err(), "the line is to come within five seconds")
	})
	t.Run("a password", func(t *testing.T) {
		server := start(t)
		root, err := etcd.Open(t.Context(), at(server.Addr()))
		require.NoError(t, err)
		defer root.Close()
		_, err = root.UserAdd(t.Context(), "root", "right")
		require.NoError(t, err)
		_, err = root.UserGrantRole(t.Context(), "root", "root")
		require.NoError(t, err)
		_, err = root.AuthEnable(t.Context())
		require.NoError(t, err)

		config := at(server.Addr())
		refused(t, config, "can't be used", "user name is empty")
		config.Username = "root"
		refused(t, config, "can't be used", "authentication failed")
		config.Password = "right"
		client, err := etcd.Open(t.Context(), config)
		require.NoError(t, err)
		defer client.Close()
		l, err := etcd.New(client, "stock", 10*time.Second)
		require.NoError(t, err)
		require.NoError(t, l.Lock(t.Context()))
		require.NoError(t, l.Unlock(t.Context()))
		require.NoError(t, l.Close())
	})
}

func TestAnotherServerIsFoundBesideOneThatIsUnreachable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems reset what does not fit into the queue")
	}
	server := start(t)
	network, err := proxy.Listen(server.Addr())
	require.NoError(t, err)
	defer network.Close()
	end, err := network.HangDials()
	require.NoError(t, err)
	defer end()
	client, err := etcd.Open(t.Context(), at(network.Addr(), server.Addr()))
	require.NoError(t, err)
	defer client.Close()
	l, err := etcd.New(client, "stock", 10*time.Second)
	require.NoError(t, err)
	granted, err := l.TryLock(t.Context())
	require.NoError(t, err)
	assert.True(t, granted)
	require.NoError(t, l.Close())
}

func TestBadInputGetsOneLine(t *testing.T) {
	_, err := etcd.New(nil, "stock", time.Second)
	assert.ErrorIs(t, err, lock.ErrInvalid)
}
