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

// That it does to the second node what it did to the first is seen by the explorer.
func TestAScriptIsExecutedWhereItMayDoSomethingElse(t *testing.T) {
	for differs, script := range map[string]string{
		"nothing":                sets,
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
				case "nothing":
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
				assert.Equal(t, differs == "nothing", reply == second.says(run))
			})
		})
	}
}
