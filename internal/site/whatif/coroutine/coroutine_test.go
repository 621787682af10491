package coroutine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/whatif/coroutine"
	"github.com/lockladder/lockladder/scenarios"
)

// gold is the rung: each function sends a command, and says whether the reply is the one
// that it wants.
func gold(key string, ttl time.Duration) coroutine.Owner {
	return func(function string) coroutine.Call {
		command := fmt.Sprintf("SET %s locked PX %d NX", key, ttl.Milliseconds())
		wanted, line := any("OK"), 2
		if function == "unlock" {
			command, wanted, line = "DEL "+key, int64(1), 6
		}
		sent := false
		return func(r coroutine.Resume) (s coroutine.Step) {
			if sent {
				return coroutine.Step{Ended: true, Passed: r.Error != "", Value: r.Reply == wanted}
			}
			sent, s.Line = true, line
			for word := range strings.FieldsSeq(command) {
				s.Command = append(s.Command, word)
			}
			return s
		}
	}
}

// Run fails for each flaw that is declared and doesn't break, and the other way around.
// (The laboratory's test compares more of the ladder, in a browser.)
func TestALockOfCoroutinesBreaksWhatItsRungBreaks(t *testing.T) {
	p := &coroutine.Program{File: "mine/lock.js", Owner: gold}
	report := scenarios.Run(t, p.Build, locktest.Options(locktest.Find(t, "gold"))...)
	require.NotEmpty(t, report)
	for _, e := range report[0].Sequence {
		assert.Equal(t, map[string]string{"SET": "mine/lock.js:2", "DEL": "mine/lock.js:6"}[strings.Fields(e.Text)[0]],
			e.Line, e.Text)
	}
}
