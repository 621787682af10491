package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// The conversations between clients and a Redis server in testdata/conversations, as
// redis-cli would print them, with each client's name before its command, are held to what
// a server answers: locks taken by hand, and MULTI, EXEC, DISCARD, WATCH and UNWATCH.

// onRedis ends the name of a conversation that Redis answers differently.
const onRedis = "-on-redis"

func TestConversationsOnMiniredis(t *testing.T) {
	for name, text := range conversations(t) {
		if strings.HasSuffix(name, onRedis) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			server := miniredis.RunT(t)
			said := repeat(t, text, &redis.Options{Addr: server.Addr()},
				server.FastForward)
			assert.Equal(t, text, said)
			t.Log("\n" + said)
		})
	}
}

func TestConversationsOnRedis(t *testing.T) {
	servers.Need(t)
	all := conversations(t)
	for name, text := range all {
		if other, ok := all[name+onRedis]; ok {
			assert.NotEqual(t, text, other, "the page says that they differ")
			continue
		}
		t.Run(name, func(t *testing.T) {
			server, err := servers.StartRedis(t.Context())
			require.NoError(t, err)
			defer server.Stop()
			client := server.Client() // with the password
			defer client.Close()
			assert.Equal(t, text, repeat(t, text, client.Options(), time.Sleep))
		})
	}
}

// conversations are all of testdata, by name.
func conversations(t *testing.T) map[string]string {
	files, err := filepath.Glob("testdata/conversations/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	return all
}

// repeat says to a server what the clients say, with a connection for each, and
// returns the conversation with the answers of now.
func repeat(t *testing.T, conversation string, server *redis.Options,
	wait func(time.Duration)) string {
	options := *server
	options.Protocol, options.DisableIdentity, options.MaxRetries = 2, true, -1
	rdb := redis.NewClient(&options)
	defer rdb.Close()
	clients := map[string]*redis.Conn{} // a transaction belongs to a connection
	var said strings.Builder
	for line := range strings.Lines(conversation) {
		if later, ok := strings.CutSuffix(line, " later)\n"); ok {
			d, err := time.ParseDuration(later[1:])
			require.NoError(t, err)
			wait(d)
			said.WriteString(line)
		}
		name, command, ok := strings.Cut(line, "> ")
		if !ok {
			continue
		}
		if clients[name] == nil {
			clients[name] = rdb.Conn()
		}
		var args []any
		for _, word := range strings.Fields(command) {
			args = append(args, word)
		}
		reply, err := clients[name].Do(t.Context(), args...).Result()
		if err != nil {
			reply = err
		}
		said.WriteString(line + answer(reply))
	}
	return said.String()
}

// answer writes a reply as redis-cli does.
func answer(reply any) string {
	switch r := reply.(type) {
	case error:
		if errors.Is(r, redis.Nil) {
			return "(nil)\n"
		}
		return "(error) " + strings.TrimRight(r.Error(), " ") + "\n"
	case nil:
		return "(nil)\n"
	case int64:
		return fmt.Sprintf("(integer) %d\n", r)
	case []any:
		var b strings.Builder
		for i, element := range r {
			fmt.Fprintf(&b, "%d) %s", i+1, answer(element))
		}
		return b.String()
	}
	return fmt.Sprintf("%v\n", reply)
}
