package protocol_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// attempt is what a waiter says whose deadline comes while it asks.
var attempt = regexp.MustCompile(`acquire( \\"stock\\": context deadline exceeded)[^"]*`)

// The conversation that docs/any-language.md shows is what a rung says.
func TestTheConversationOfThePageIsWhatARungSays(t *testing.T) {
	text, err := os.ReadFile("testdata/conversation.txt")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/any-language.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), string(text), "the page shows it")

	server := miniredis.RunT(t)
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error)
	go func() {
		done <- protocol.Serve(requests, answers, protocol.Answer{Library: "a rung"},
			func(e lock.Env) (lock.Lock, error) {
				return reentrant.New(e.Nodes[0], e.Key, e.TTL, e.Options...)
			})
	}()
	said := bufio.NewScanner(out)
	var want []any
	hear := func() { // answers may come in another order
		var got []any
		for range want {
			require.True(t, said.Scan())
			got = append(got, parsed(t, attempt.ReplaceAllString(said.Text(), "wait for$1")))
		}
		assert.ElementsMatch(t, want, got)
		want = nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		request, ok := strings.CutPrefix(line, "> ")
		if !ok {
			want = append(want, parsed(t, strings.TrimPrefix(line, "< ")))
			continue
		}
		hear()
		request = strings.ReplaceAll(request, "127.0.0.1:6379", server.Addr())
		_, err := io.WriteString(in, request+"\n")
		require.NoError(t, err)
	}
	hear()
	require.NoError(t, in.Close())
	require.NoError(t, <-done)
}

func parsed(t *testing.T, line string) (v any) {
	require.NoError(t, json.Unmarshal([]byte(line), &v), line)
	return v
}

// A reply comes later than go-redis's own timeout where the lease is long.
func TestOnlyTheContextOfACallEndsItsWaitForAReply(t *testing.T) {
	var of *redis.Options
	err := protocol.Serve(strings.NewReader(`{"id":1,"type":"hello","protocol":1,`+
		`"nodes":[{"address":"127.0.0.1:1"}]}`), io.Discard,
		protocol.Answer{Library: "a rung"}, func(e lock.Env) (lock.Lock, error) {
			of = e.Nodes[0].(*redis.Client).Options()
			return reentrant.New(e.Nodes[0], e.Key, e.TTL, e.Options...)
		})
	require.NoError(t, err)
	assert.True(t, of.ContextTimeoutEnabled)
	assert.Zero(t, of.ReadTimeout)
	assert.Zero(t, of.WriteTimeout)
}

// TestTheSchemaHasWhatTheProtocolHas compares names; the schema says what they mean.
func TestTheSchemaHasWhatTheProtocolHas(t *testing.T) {
	text, err := os.ReadFile("protocol.schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum  []string
				Items struct{ Enum []string }
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	for name, of := range map[string]any{"request": protocol.Request{},
		"answer": protocol.Answer{}, "node": protocol.Node{}} {
		var want, got []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" {
				want = append(want, tag)
			}
		}
		for property := range schema.Defs[name].Properties {
			got = append(got, property)
		}
		assert.ElementsMatch(t, want, got, name)
	}
	answer := schema.Defs["answer"].Properties
	assert.Equal(t, protocol.Features, answer["features"].Items.Enum)
	assert.Equal(t, []string{protocol.Hello, protocol.OK, protocol.Granted,
		protocol.Refused, protocol.Error, protocol.Lost, protocol.Sold}, answer["type"].Enum)
	assert.Equal(t, []string{protocol.NotHeld, protocol.LostBefore, protocol.Busy,
		protocol.Upgrade, protocol.Deadline, protocol.Canceled, protocol.Unknown},
		answer["error"].Enum)
	assert.True(t, slices.Contains(schema.Defs["request"].Properties["type"].Enum, protocol.Cancel))
}
