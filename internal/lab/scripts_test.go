package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

// quorum has a client that is connected to two nodes, which know a script.
func quorum(t *testing.T, script string, do func(w *lab.World, run string, first, second *plain)) {
	config := lab.Config{Nodes: 2, Key: key, TTL: 10 * time.Second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		a := w.Client("A")
		a.Go(func() {
			first, second := dial(t, a, 0), dial(t, a, 1)
			defer first.Close()
			defer second.Close()
			_, sha, _ := strings.Cut(first.says("SCRIPT|LOAD|"+script), "\r\n")
			second.says("SCRIPT|LOAD|" + script)
			do(w, "EVALSHA|"+sha+"|1|stock|a", first, second)
		})
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}

// A reply that differs whenever a script is executed, besides what it does.
const random = " return tostring(math.random())"

const sets = "redis.call('SET', KEYS[1], ARGV[1], 'PX', 5000)" + random

func TestAScriptDoesToTheSecondNodeWhatItDidToTheFirst(t *testing.T) {
	script := "redis.call('DEL', 'old') redis.call('ZADD', 'queue', 2.25, 'a')" +
		" redis.call('ZPOPMIN', 'queue') redis.call('PUBLISH', 'news', 'one') " + sets
	quorum(t, script, func(w *lab.World, run string, first, second *plain) {
		var listeners []*plain
		for i, n := range []*plain{first, second} {
			l := dial(t, w.Client("B"), i)
			defer l.Close()
			l.says("SUBSCRIBE|news")
			listeners = append(listeners, l)
			n.says("SET|old|x")
			n.says("SET|kept|x")
			n.says("ZADD|queue|1.5|b")
		}
		assert.Equal(t, first.says(run), second.says(run), "it is not executed again")
		assert.Equal(t, "$1\r\na", second.says("GET|stock"))
		assert.Equal(t, ":5000", second.says("PTTL|stock"))
		assert.Equal(t, ":1", second.says("EXISTS|old|kept"))
		assert.Equal(t, "*2\r\n$1\r\na\r\n$4\r\n2.25", second.says("ZRANGE|queue|0|-1|WITHSCORES"))
		for _, l := range listeners {
			assert.Contains(t, l.hears(), "one")
		}
	})
}

func TestAScriptIsExecutedWhereItMayDoSomethingElse(t *testing.T) {
	for differs, script := range map[string]string{
		"SET|stock|b":            sets,
		"SET|stock|a|PX|5001":    sets,
		"SET|other|a":            sets,
		"HEXPIRE|h|9|FIELDS|1|f": sets,
		"ZADD|queue|1|a":         sets,
		"LPUSH|list|a":           sets,
		"WATCH|stock":            sets,
		"MULTI":                  sets,
		"SCRIPT|FLUSH":           sets,
		"a clock":                sets,
		"a listener":             "redis.call('PUBLISH', 'news', 'one')" + random,
		"a second later":         "return redis.call('TIME')[1]",
		"a moment later": "redis.call('PEXPIREAT', KEYS[1], '4102444800000')" +
			random,
	} {
		t.Run(differs, func(t *testing.T) {
			quorum(t, script, func(w *lab.World, run string, first, second *plain) {
				reply := first.says(run)
				switch differs {
				case "a clock":
					w.Node(1).Drift(1.01)
				case "a listener":
					l := dial(t, w.Client("B"), 1)
					defer l.Close()
					l.says("SUBSCRIBE|news")
				case "a second later", "a moment later":
					time.Sleep(time.Second)
				default:
					second.says(differs)
				}
				assert.NotEqual(t, reply, second.says(run))
			})
		})
	}
}
