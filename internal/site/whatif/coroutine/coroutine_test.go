package coroutine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/whatif/coroutine"
	"github.com/lockladder/lockladder/scenarios"
)

// gold is the rung: each function sends a command, and says whether the reply is the one
// that it wants.
func gold(key string, ttl time.Duration) coroutine.Owner {
	return func(function string) coroutine.Call {
		command, wanted := []any{"SET", key, "locked", "PX", fmt.Sprint(ttl.Milliseconds()), "NX"}, any("OK")
		if function == "unlock" {
			command, wanted = []any{"DEL", key}, int64(1)
		}
		sent := false
		return func(r coroutine.Resume) coroutine.Step {
			if !sent {
				sent = true
				return coroutine.Step{Command: command}
			}
			return coroutine.Step{Ended: true, Passed: r.Error != "", Value: r.Reply == wanted}
		}
	}
}

// Run fails for each flaw that is declared and doesn't break, and the other way around.
// (The laboratory's test compares more of the ladder, in a browser.)
func TestALockOfCoroutinesBreaksWhatItsRungBreaks(t *testing.T) {
	p := &coroutine.Program{Owner: gold}
	scenarios.Run(t, p.Build, locktest.Options(locktest.Find(t, "gold"))...)
}
