package whatif_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/site/whatif"
	"github.com/lockladder/lockladder/scenarios"
)

func ask(t *testing.T, q whatif.Question) (whatif.Answer, recording.Run) {
	t.Helper()
	a := whatif.Ask(t, q)
	var run recording.Run
	if a.Run != "" {
		require.NoError(t, json.Unmarshal([]byte(a.Run), &run))
	}
	return a, run
}

func verdict(a whatif.Answer, invariant string) string {
	for _, v := range a.Verdicts {
		if v.Invariant == invariant {
			return string(v.Verdict)
		}
	}
	return ""
}

var overrun = whatif.Question{Rung: "gold", Scenario: "overrun_release",
	Invariant: "foreign release"}

func TestARunThatNothingIsChangedInIsTheRecordedOne(t *testing.T) {
	a, _ := ask(t, overrun)
	require.Empty(t, a.Error)
	report := locktest.Scenarios(t, "gold", scenarios.Only(overrun.Scenario))
	i := slices.IndexFunc(report, func(r scenarios.Result) bool {
		return r.Invariant == overrun.Invariant
	})
	require.GreaterOrEqual(t, i, 0)
	text, err := json.Marshal(report[i].Recording("gold"))
	require.NoError(t, err)
	assert.True(t, string(text) == a.Run, "the same bytes")
}

func TestANumberChangesTheRun(t *testing.T) {
	lease, short, long, latency, poll := overrun, overrun, overrun, overrun, overrun
	lease.Lease, latency.Latency, poll.Poll = new(60e3), new(20.0), new(2000.0)
	short.Work, long.Work = new(50.0), new(110.0)

	a, run := ask(t, lease)
	assert.NotEqual(t, "breaks", verdict(a, "foreign release"), a.Error)
	assert.Contains(t, strings.Join(run.Texts, "\n"), "SET lock:stock locked EX 60 NX")
	a, _ = ask(t, short)
	assert.NotEqual(t, "breaks", verdict(a, "foreign release"), a.Error)
	a, _ = ask(t, long)
	assert.Equal(t, "breaks", verdict(a, "foreign release"))
	_, run = ask(t, latency)
	first := run.Entries[0]
	assert.Equal(t, int64(20_000), first.At-first.Sent)
	assert.Equal(t, int64(20_000), first.Back-first.At)
	_, often := ask(t, overrun)
	_, seldom := ask(t, poll)
	assert.Less(t, len(seldom.Entries), len(often.Entries)/4)

	lease.Lease = new(3e3) // it outlives a warm-up that is in step with it
	a, _ = ask(t, lease)
	assert.Empty(t, a.Error)
	for rung, lease := range map[string]float64{"gold": 10e3, "diamond": 8e3, "diamond/watchdog": 8e3} {
		a, _ = ask(t, whatif.Question{Rung: rung, Scenario: "mutual_exclusion", Lease: new(lease), Latency: new(5e3)})
		assert.Regexp(t, "^with a lease of .* a latency of 5s, A can't .* in time: choose a longer lease", a.Error)
		assert.Empty(t, a.Verdicts, "no verdict on a lock that can't do better")
	}
}

// The timestamp lock compares the clocks of two clients.
func TestAClientsClockIsAhead(t *testing.T) {
	q := whatif.Question{Rung: "silver/timestamp", Scenario: "mutual_exclusion"}
	a, _ := ask(t, q)
	require.Empty(t, a.Error)
	require.Equal(t, "holds", verdict(a, "two holders"))
	q.Skew, q.Skewed = new(60e3), "B"
	a, _ = ask(t, q)
	assert.Equal(t, "breaks", verdict(a, "two holders"), "%+v", a.Verdicts)
	assert.Empty(t, a.Unfired)
	q.Skewed = "D"
	a, _ = ask(t, q)
	assert.Equal(t, []string{"D is not in this scenario: its clock changes nothing"}, a.Unfired)
}

// The unlock of a client whose reply is late, lost or never given.
func TestAFaultBefallsTheCommandThatItIsDroppedOn(t *testing.T) {
	q := whatif.Question{Rung: "diamond", Scenario: "mutual_exclusion"}
	_, run := ask(t, q)
	client := run.Clients[0]
	for _, c := range []struct {
		fault whatif.Fault
		says  string
	}{
		{whatif.Fault{Kind: "late", By: 2000}, ", sent at 0.007"},
		{whatif.Fault{Kind: "late reply", By: 2000}, ", which arrives at 2.007"},
		{whatif.Fault{Kind: "lost request"}, "never sent: connection error"},
		{whatif.Fault{Kind: "lost reply"}, ", which is lost"},
		{whatif.Fault{Kind: "hang"}, "no answer"},
	} {
		t.Run(c.fault.Kind, func(t *testing.T) {
			q := q
			c.fault.Client, c.fault.Nth = client, 1
			q.Faults = []whatif.Fault{c.fault}
			a, run := ask(t, q)
			assert.Contains(t, strings.Join(run.Texts, "\n"), c.says, a.Error)
			assert.Empty(t, a.Unfired)
			assert.Len(t, a.Numbers, len(run.Entries))
			assert.Contains(t, a.Numbers, 1)
		})
	}
	q.Faults = []whatif.Fault{{Client: client, Nth: 999, Kind: "hang"}}
	a, _ := ask(t, q)
	assert.Equal(t, []string{client + " never sent its command 999 in this run"}, a.Unfired)
}

// The fault that the page offers first, on A's first command, leaves a run that can be
// judged.
func TestTheFaultThatIsOfferedFirstCanBeJudged(t *testing.T) {
	locktest.Long(t, "it runs a scenario of every rung")
	late := func(by float64) []whatif.Fault {
		return []whatif.Fault{{Client: "A", Nth: 1, Kind: "late reply", By: by}}
	}
	for _, rung := range ladder.Rungs {
		for _, scenario := range []string{rung.Flaws[0].Scenario, "overrun_release"} {
			a, _ := ask(t, whatif.Question{Rung: rung.Name, Scenario: scenario, Faults: late(300)})
			assert.Empty(t, a.Error, "%s, %s", rung.Name, scenario)
		}
	}
}

// A lost reply, the first of a run, leaves a lock that the server thinks is A's, and that
// A doesn't know of: the answer says who gets in then, and when. A client that asks again
// meets its own grant, unless the server knows the owner.
func TestALostFirstReplySaysWhoGetsIn(t *testing.T) {
	const unsure = "A's Lock returns an error at 0.007 s, so A doesn't have the lock. "
	const held = unsure + "The server thinks that A holds it. It lets nobody in "
	for _, c := range []struct {
		rung, scenario, kind string
		again                bool
		says                 string
	}{
		{"bronze", "overrun_overlap", "lost reply", false, held + "ever again: the key has no lease."},
		{"gold", "overrun_overlap", "lost reply", true, unsure + "The server thinks that A holds it. A asks" +
			" again, and its own lock is in its way. It lets nobody in for 10.0 s, until the" +
			" lease ends at 10.008 s. B gets in at 10.023 s."},
		{"reentrant", "overrun_overlap", "lost reply", true, unsure + "The server thinks that A holds it. A asks" +
			" again and gets in at 0.009 s: the server knows it."},
		{"gold", "overrun_overlap", "lost request", false, unsure +
			"The server has no lock of A's either. B gets in at 1.015 s."},
		{"reentrant/readwrite", "writer_not_starved", "lost reply", false,
			strings.Replace(unsure, "Lock", "RLock", 1) + "The server thinks that A reads. B gets" +
				" in at 3.015 s."},
	} {
		a, run := ask(t, whatif.Question{Rung: c.rung, Scenario: c.scenario, Again: c.again,
			Faults: []whatif.Fault{{Client: "A", Nth: 1, Kind: c.kind}}})
		assert.Empty(t, a.Error)
		assert.Equal(t, c.says, a.Outcome)
		assert.Equal(t, !c.again, a.Unjudged)
		assert.Equal(t, c.again, slices.Contains(run.Texts, scenarios.AsksAgain))
	}
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
	require.NoError(t, err)
	return string(text)
}

// A script that deletes whatever it finds makes diamond what gold is.
func TestAScriptRunsAsItWasEdited(t *testing.T) {
	q := overrun
	q.Rung = "diamond"
	a, _ := ask(t, q)
	require.Equal(t, "holds", verdict(a, "foreign release"))
	q.Scripts = []whatif.Script{{Name: "release.lua", Original: source(t, "diamond/release.lua"),
		Edited: "-- release.lua: deletes\nreturn redis.call('DEL', KEYS[1])\n"}}
	a, run := ask(t, q)
	assert.Equal(t, "breaks", verdict(a, "foreign release"), a.Error)
	lines := strings.Join(run.Lines, " ")
	assert.Contains(t, lines, "diamond/lock.go", "the line that runs it is known")
	last := run.Entries[run.Broken]
	assert.NotEmpty(t, run.Lines[last.Line])
}

// An exercise that changes only Lua is solved by the rung's scripts, and by nothing
// that it begins with.
func TestAnExerciseIsSolvedByItsRungsScripts(t *testing.T) {
	locktest.Long(t, "it runs every scenario four times")
	for exercise, rung := range map[string]string{
		"fenced": "diamond/fenced", "readwrite": "reentrant/readwrite"} {
		t.Run(exercise, func(t *testing.T) {
			q := whatif.Question{Rung: rung, Exercise: exercise}
			a := whatif.Ask(t, q)
			require.Empty(t, a.Error)
			require.NotEmpty(t, a.Verdicts)
			for _, v := range a.Verdicts {
				assert.NotEqual(t, "breaks", string(v.Verdict), "%+v", v)
			}
			scripts, err := filepath.Glob("../../../docs/exercises/" + exercise + "/*.lua")
			require.NoError(t, err)
			for _, file := range scripts {
				name := filepath.Base(file)
				q.Scripts = append(q.Scripts, whatif.Script{Name: name,
					Original: source(t, path.Join(rung, name)),
					Edited:   source(t, path.Join("docs/exercises", exercise, name))})
			}
			assert.Contains(t, fmt.Sprint(whatif.Ask(t, q).Verdicts), " breaks ", "its start breaks something")
			q.Lease = new(60e3) // with which its flaw does not arise
			assert.Contains(t, fmt.Sprint(whatif.Ask(t, q).Verdicts), " breaks ", "as it is written")
		})
	}
}

func TestABadQuestionGetsOneLine(t *testing.T) {
	q := `{"rung":"gold","scenario":"overrun_release",`
	script := `"scripts":[{"name":"release.lua","original":"x","edited":`
	for _, c := range []struct{ question, says string }{
		{q, "the question can't be read: unexpected EOF"},
		{`{"rung":"copper"}`, `there is no rung "copper", the rungs are bronze,`},
		{q + `"lease":0}`, "the lease is 0 s, it must be from 0.001 to 3600 s (example: 10)"},
		{q + `"faults":[{"client":"A","nth":1,"kind":"fire"}]}`, `there is no fault "fire"`},
		{q + `"faults":[{"client":"A","nth":1,"kind":"late"}]}`, "the message is late by 0 ms"},
		{q + script + `""}]}`, "release.lua: it is empty"},
		{q + script + `"return 1 +"}]}`, "release.lua is not Lua: syntax error at the end"},
		{q + script + `"local x\nif then"}]}`,
			`release.lua is not Lua: syntax error in line 2 near "then"`},
	} {
		var a whatif.Answer
		require.NoError(t, json.Unmarshal([]byte(whatif.Respond(t, c.question, nil)), &a))
		assert.Contains(t, a.Error, c.says)
		assert.NotContains(t, a.Error, "\n")
		assert.Empty(t, a.Run)
	}
}

func TestRandomWorldsShowWhatTheRungIsNotKnownToBreak(t *testing.T) {
	q := whatif.Question{Rung: "diamond", Worlds: &[2]int{0, 10}}
	a, _ := ask(t, q)
	assert.Empty(t, a.Error)
	assert.Empty(t, a.Run)
	q.Scripts = []whatif.Script{{Name: "release.lua", Original: source(t, "diamond/release.lua"),
		Edited: "return redis.call('DEL', KEYS[1])"}}
	q.Worlds[1] = 40
	a, run := ask(t, q)
	require.Empty(t, a.Error)
	assert.Equal(t, "breaks", verdict(a, run.Invariant))
	assert.NotEmpty(t, a.Story)
	assert.Equal(t, a.Story, run.Summary)
}
