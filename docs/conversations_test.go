package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// The conversations between clients and a Redis server in the documents, as redis-cli would
// print them, with each client's name before its command, are held to what a server answers:
// locks taken by hand, and MULTI, EXEC, DISCARD, WATCH and UNWATCH. A block in the language
// "redis" or "miniredis" is what only one of the two answers.

func TestConversationsOnMiniredis(t *testing.T) {
	for name, text := range conversations(t, "miniredis") {
		t.Run(name, func(t *testing.T) {
			server := miniredis.RunT(t)
			said := repeat(t, text, &redis.Options{Addr: server.Addr()}, server.FastForward)
			assert.Equal(t, text, said)
			t.Log("\n" + said)
		})
	}
}

func TestConversationsOnRedis(t *testing.T) {
	servers.Need(t)
	for name, text := range conversations(t, "redis") {
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

// spoken is how a conversation begins.
var spoken = regexp.MustCompile(`^\w+> .*\n`)

// conversations are those with a server, by their documents and their places there.
func conversations(t *testing.T, server string) map[string]string {
	all := map[string]string{}
	for _, file := range generated.Documents(root) {
		for i, block := range read(t, file).Blocks() {
			if spoken.MatchString(block.Text) &&
				(block.Language == "" || block.Language == server) {
				all[fmt.Sprint(file, " ", i)] = block.Text
			}
		}
	}
	require.Greater(t, len(all), 10, "conversations were found")
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
