package coroutine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/whatif/coroutine"
	"github.com/lockladder/lockladder/scenarios"
)

// program has, for each function, what its calls do: the steps of a call, of which each
// may depend on what the call was resumed with.
type program map[string]func(key string, ttl time.Duration) []coroutine.Call

func (p program) Functions() (names []string) {
	for name := range p {
		names = append(names, name)
	}
	return names
}

func (p program) Owner(key string, ttl time.Duration) coroutine.Owner {
	return func(function string) coroutine.Call {
		steps := p[function](key, ttl)
		return func(r coroutine.Resume) coroutine.Step {
			step := steps[0]
			steps = steps[1:]
			return step(r)
		}
	}
}

// sends is a step: a command of a line.
func sends(line int, words ...any) coroutine.Call {
	return func(coroutine.Resume) coroutine.Step {
		return coroutine.Step{Line: line, Command: strings.Fields(fmt.Sprintln(words...))}
	}
}

// returns is the last step: whether the reply is this one. An error is passed on.
func returns(reply any) coroutine.Call {
	return func(r coroutine.Resume) coroutine.Step {
		return coroutine.Step{Ended: true, Passed: r.Error != "", Value: new(r.Reply == reply)}
	}
}

// gold is the rung, in two functions.
func gold() program {
	return program{
		coroutine.TryLock: func(key string, ttl time.Duration) []coroutine.Call {
			return []coroutine.Call{sends(2, "SET", key, "locked", "PX", ttl.Milliseconds(),
				"NX"), returns("OK")}
		},
		coroutine.Unlock: func(key string, _ time.Duration) []coroutine.Call {
			return []coroutine.Call{sends(6, "DEL", key), returns(int64(1))}
		},
	}
}

// with replaces a function of gold by one that takes these steps.
func with(function string, steps ...coroutine.Call) program {
	p := gold()
	p[function] = func(string, time.Duration) []coroutine.Call { return slices.Clone(steps) }
	return p
}

func source(t *testing.T, p program) *coroutine.Source {
	s, err := coroutine.New("mine/lock.js", p)
	require.NoError(t, err)
	return s
}

// Run fails for each flaw that is declared and doesn't break, and the other way around.
func TestALockOfCoroutinesBreaksWhatItsRungBreaks(t *testing.T) {
	lock := source(t, gold())
	scenarios.Run(t, lock.Build, locktest.Options(locktest.Find(t, "gold"))...)
	assert.NoError(t, lock.Mistake())
}

// try runs a scenario and returns the timeline's texts with their lines.
func try(t *testing.T, s *coroutine.Source, scenario string, faults ...scenarios.Fault) string {
	results, _, err := scenarios.Try(t, s.Build, scenario, scenarios.Change{Faults: faults},
		locktest.Options(locktest.Find(t, "gold"))...)
	var text strings.Builder
	fmt.Fprintln(&text, err)
	for _, r := range results {
		fmt.Fprintln(&text, r.Invariant, r.Verdict)
		for _, e := range r.Sequence {
			fmt.Fprintln(&text, e.At, e.Client, e.Text, e.Line)
		}
	}
	return text.String()
}

func TestTheTimelineNamesTheLineThatSends(t *testing.T) {
	text := try(t, source(t, gold()), "mutual_exclusion")
	assert.Contains(t, text, "SET lock:stock locked PX 10000 NX mine/lock.js:2\n")
	assert.Contains(t, text, "DEL lock:stock mine/lock.js:6\n")
}

// ends is a step: the call returns or throws.
func ends(s coroutine.Step) coroutine.Call {
	s.Ended = true
	return func(coroutine.Resume) coroutine.Step { return s }
}

func TestAnErrorIsTheCallsAndAMistakeTheProgrammers(t *testing.T) {
	lost := scenarios.Fault{Client: "A", Nth: 1, LoseReply: true}
	var seen string
	catches := gold()
	catches[coroutine.TryLock] = func(key string, _ time.Duration) []coroutine.Call {
		return []coroutine.Call{sends(1, "SET", key, "x", "NX"),
			func(r coroutine.Resume) coroutine.Step {
				seen += r.Error
				return coroutine.Step{Ended: true, Value: new(r.Reply == "OK" || r.Error != "")}
			}}
	}
	for _, c := range []struct {
		name    string
		program program
		faults  []scenarios.Fault
		says    string // in the timeline
		mistake string
	}{
		{"passed on", gold(), []scenarios.Fault{lost}, "Lock returns error", ""},
		{"caught", catches, []scenarios.Fault{lost}, "Lock returns ok", ""},
		{"its own", with(coroutine.TryLock, ends(coroutine.Step{Thrown: "no"})), nil,
			`tryLock "lock:stock:warm:A": no`, ""},
		{"not held", with(coroutine.Unlock, ends(coroutine.Step{Value: new(false)})), nil,
			"the lock is not held by this owner", ""},
		{"returns nothing", with(coroutine.TryLock, ends(coroutine.Step{})), nil, "",
			"tryLock returns nothing: return true if"},
		{"waits in vain", with(coroutine.Lock, ends(coroutine.Step{Value: new(false)})), nil, "",
			"lock returns false: it waits until"},
		{"no command", with(coroutine.TryLock, sends(3, "SAT", "x")), nil, "",
			`line 3: there is no command "SAT"`},
		{"no end", with(coroutine.Unlock, slices.Repeat([]coroutine.Call{
			func(coroutine.Resume) coroutine.Step { return coroutine.Step{Sleep: 1} }}, 1001)...), nil,
			"", "unlock comes to no end"},
		{"its mistake", with(coroutine.Unlock, ends(coroutine.Step{Mistake: "line 1: x"})), nil,
			"", "line 1: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := source(t, c.program)
			assert.Contains(t, try(t, s, "mutual_exclusion", c.faults...), c.says)
			if c.mistake == "" {
				assert.NoError(t, s.Mistake())
			} else {
				assert.ErrorContains(t, s.Mistake(), c.mistake)
			}
		})
	}
	assert.NotEmpty(t, seen, "the error is thrown where the command was yielded")
}

// A program that has renew keeps its lease, and is told when it is lost.
func TestALeaseIsRenewed(t *testing.T) {
	renews := func(key string, ttl time.Duration) []coroutine.Call {
		return []coroutine.Call{sends(9, "PEXPIRE", key, ttl.Milliseconds()), returns(int64(1))}
	}
	p := gold()
	p[coroutine.Renew] = renews
	s := source(t, p)
	require.True(t, s.Renews())
	assert.Contains(t, try(t, s, "overrun_overlap"), "two holders holds")
	assert.Contains(t, try(t, source(t, gold()), "overrun_overlap"), "two holders breaks")
	assert.Contains(t, try(t, s, "lost_lease_told"), "Lost is closed")
}

// A call's sleep ends with its context, its clock is the client's, and a token that was
// used isn't given again.
func TestACallSleepsInTheScenariosTime(t *testing.T) {
	var tokens []string
	var began, ended int64
	p := with(coroutine.Lock, func(r coroutine.Resume) coroutine.Step {
		tokens, began = append(tokens, r.Token), r.Now
		return coroutine.Step{Sleep: 1500, Used: true}
	}, func(r coroutine.Resume) coroutine.Step {
		tokens, ended = append(tokens, r.Token), r.Now
		return coroutine.Step{Command: []string{"SET", "lock:stock", "x", "NX"}}
	}, returns("OK"))
	try(t, source(t, p), "crash_holding")
	assert.EqualValues(t, 1500, ended-began)
	assert.NotEqual(t, tokens[0], tokens[1])
}

func TestALockNeedsItsFunctions(t *testing.T) {
	_, err := coroutine.New("mine/lock.js", program{})
	assert.EqualError(t, err, "a lock needs a function tryLock: function* tryLock() { … }")
}
