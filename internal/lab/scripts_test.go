package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

// quorum has a client that is connected to two nodes.
func quorum(t *testing.T, script func(w *lab.World, first, second *plain)) {
	config := lab.Config{Nodes: 2, Key: "stock", TTL: 10 * time.Second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		a := w.Client("A")
		a.Go(func() {
			first, second := dial(t, a, 0), dial(t, a, 1)
			defer first.Close()
			defer second.Close()
			script(w, first, second)
		})
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}

// load makes both nodes know a script, and returns its name.
func load(script string, nodes ...*plain) (sha string) {
	for _, n := range nodes {
		_, sha, _ = strings.Cut(n.says("SCRIPT|LOAD|"+script), "\r\n")
	}
	return sha
}

// A number that differs whenever a script is executed, besides what it does.
const (
	sets   = "redis.call('SET', KEYS[1], ARGV[1], 'PX', 5000) return tostring(math.random())"
	clock  = "return redis.call('TIME')[1]"
	expire = "redis.call('PEXPIREAT', KEYS[1], '4102444800000') return tostring(math.random())"
)

func TestAScriptDoesToTheSecondNodeWhatItDidToTheFirst(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		sha := load(sets, first, second)
		first.says("EVAL|" + clock + "|0") // which is another script's time
		reply := first.says("EVALSHA|" + sha + "|1|stock|a")
		time.Sleep(time.Millisecond)
		assert.Equal(t, reply, second.says("EVALSHA|"+sha+"|1|stock|a"),
			"it is not executed again")
		assert.Equal(t, "$1\r\na", second.says("GET|stock"))
		assert.Equal(t, ":5000", second.says("PTTL|stock"))
	})
}

func TestAScriptThatDeletesAKeyDeletesItOnTheSecondNode(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		sha := load("redis.call('DEL', KEYS[1]) return tostring(math.random())",
			first, second)
		for _, n := range []*plain{first, second} {
			n.says("SET|stock|a")
			n.says("SET|other|b")
		}
		reply := first.says("EVALSHA|" + sha + "|1|stock")
		assert.Equal(t, reply, second.says("EVALSHA|"+sha+"|1|stock"))
		assert.Equal(t, "$-1", second.says("GET|stock"))
		assert.Equal(t, "$1\r\nb", second.says("GET|other"))
	})
}

// enqueues changes a sorted set and says so to all listeners.
const enqueues = "redis.call('ZADD', KEYS[1], ARGV[1], 'a') redis.call('ZPOPMIN', KEYS[1])" +
	" redis.call('PUBLISH', 'news', ARGV[1]) return tostring(math.random())"

func TestAScriptsMessageComesToTheListenersOfTheSecondNode(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		var listeners []*plain
		b := w.Client("B")
		for i, n := range []*plain{first, second} {
			l := dial(t, b, i)
			defer l.Close()
			l.says("SUBSCRIBE|news")
			listeners = append(listeners, l)
			n.says("ZADD|queue|1.5|b")
		}
		sha := load(enqueues, first, second)
		reply := first.says("EVALSHA|" + sha + "|1|queue|2.25")
		assert.Equal(t, reply, second.says("EVALSHA|"+sha+"|1|queue|2.25"),
			"it is not executed again")
		for _, l := range listeners {
			assert.Contains(t, l.hears(), "2.25")
		}
		assert.Equal(t, "*2\r\n$1\r\na\r\n$4\r\n2.25",
			second.says("ZRANGE|queue|0|-1|WITHSCORES"))
	})
}

func TestAScriptThatCountsItsListenersIsExecutedWhereThereAreOthers(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		listener := dial(t, w.Client("B"), 0)
		defer listener.Close()
		listener.says("SUBSCRIBE|news")
		sha := load("return redis.call('PUBLISH', 'news', 'x')", first, second)
		assert.Equal(t, ":1", first.says("EVALSHA|"+sha+"|0"))
		assert.Equal(t, ":0", second.says("EVALSHA|"+sha+"|0"))
	})
}

func TestAScriptIsExecutedWhereItMayDoSomethingElse(t *testing.T) {
	for name, differs := range map[string]func(n *plain){
		"another value": func(n *plain) { n.says("SET|stock|b") },
		"another lease": func(n *plain) { n.says("SET|stock|a|PX|5001") },
		"another key":   func(n *plain) { n.says("SET|other|a") },
		"a field's end": func(n *plain) { n.says("HEXPIRE|h|9|FIELDS|1|f") },
		"a sorted set":  func(n *plain) { n.says("ZADD|queue|1|a") },
		"a list":        func(n *plain) { n.says("LPUSH|list|a") },
		"a watcher":     func(n *plain) { n.says("WATCH|stock") },
	} {
		t.Run(name, func(t *testing.T) {
			quorum(t, func(w *lab.World, first, second *plain) {
				sha := load(sets, first, second)
				reply := first.says("EVALSHA|" + sha + "|1|stock|a")
				differs(second)
				again := second.says("EVALSHA|" + sha + "|1|stock|a")
				assert.NotEqual(t, reply, again)
				assert.Equal(t, "$1\r\na", second.says("GET|stock"))
			})
		})
	}
}

func TestAScriptThatReadsTheClockReadsItsNodesClock(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		sha := load(clock, first, second)
		before := first.says("EVALSHA|" + sha + "|0")
		time.Sleep(2 * time.Second)
		assert.NotEqual(t, before, second.says("EVALSHA|"+sha+"|0"))

		sha = load(expire, first, second)
		reply := first.says("EVALSHA|" + sha + "|1|stock")
		assert.NotEqual(t, reply, second.says("EVALSHA|"+sha+"|1|stock"))
	})
}

func TestAScriptRunsByTheClockOfItsNode(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		w.Node(1).Drift(1.01)
		sha := load(sets, first, second)
		reply := first.says("EVALSHA|" + sha + "|1|stock|a")
		assert.NotEqual(t, reply, second.says("EVALSHA|"+sha+"|1|stock|a"))
	})
}

func TestANodeThatDoesNotKnowAScriptSaysSo(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		sha := load(sets, first)
		first.says("EVALSHA|" + sha + "|1|stock|a")
		assert.Contains(t, second.says("EVALSHA|"+sha+"|1|stock|a"), "NOSCRIPT")
	})
}

func TestATransactionHasOnlyTheCommandsThatTheClientSent(t *testing.T) {
	quorum(t, func(w *lab.World, first, second *plain) {
		sha := load(sets, first, second)
		first.says("EVALSHA|" + sha + "|1|stock|a")
		second.says("MULTI")
		second.says("EVALSHA|" + sha + "|1|stock|a")
		assert.True(t, strings.HasPrefix(second.says("EXEC"), "*1\r\n"))
	})
}
