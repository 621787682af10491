package scenarios_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

const module = "github.com/lockladder/lockladder"

// A mutant is a rung with one mistake in it. The rung's own files are copied and
// edited, so that it is the real code that turns out to need each of its lines.
type mutant struct {
	name   string // what is wrong
	rung   string
	edits  []edit
	killer string // "scenario: invariant", which breaks
}

// edit replaces what stands in a file exactly once.
type edit struct{ file, old, new string }

// fails stands for an invariant when the story itself fails.
const fails = "fails"

var mutants = []mutant{
	{
		name: "redlock with a quorum of two in five",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "len(l.nodes)/2 + 1", "len(l.nodes) / 2"}},
		killer: "nodes_down: two holders",
	},
	{
		name: "redlock that needs every node",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "len(l.nodes)/2 + 1", "len(l.nodes)"}},
		killer: "nodes_down: unavailable",
	},
	{
		name: "redlock without the validity check",
		rung: "redlock",
		edits: []edit{{"lock.go",
			"validity := l.ttl - time.Since(sent) - l.drift()",
			"validity := l.ttl + 0*time.Since(sent)"}},
		killer: "late_grant: two holders",
	},
	{
		name: "redlock that adds the drift instead of subtracting it",
		rung: "redlock",
		edits: []edit{{"lock.go",
			"time.Since(sent) - l.drift()", "time.Since(sent) + l.drift()"}},
		killer: "late_grant: two holders",
	},
	{
		name: "redlock without a node timeout",
		rung: "redlock",
		edits: []edit{{"lock.go",
			"context.WithTimeout(ctx, l.opts.NodeTimeout)",
			"context.WithCancel(ctx)"}},
		killer: "nodes_down: hangs",
	},
	{
		name: "redlock with one token for each handle",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "token, sent := l.opts.Token(), time.Now()",
				"if l.token == \"\" {\nl.token = l.opts.Token()\n}\n" +
					"token, sent := l.token, time.Now()"}},
		killer: "late_own_release: foreign release",
	},
	{
		name: "redlock that does not release a refused attempt",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "\tl.release(own, token)\n", "\t_ = own\n"}},
		killer: "late_grant: orphaned",
	},
	{
		name: "redlock that cleans up with the caller's context",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "context.WithTimeout(context.WithoutCancel(ctx), l.ttl)",
				"context.WithTimeout(ctx, l.ttl)"}},
		killer: "late_grant: orphaned",
	},
	{
		name: "redlock whose Unlock is content with any node",
		rung: "redlock",
		edits: []edit{
			{"lock.go", "if deleted >= l.quorum() {", "if deleted >= 0 {"}},
		killer: "unlock_expired: told a lie",
	},
	{
		name: "redlock that releases without comparing",
		rung: "redlock",
		edits: []edit{{"release.lua",
			"if redis.call('GET', KEYS[1]) == ARGV[1] then", "if true then"}},
		killer: "overrun_release: foreign release",
	},

	{
		name: "timestamp without the comparison after GETSET",
		rung: "silver/timestamp",
		edits: []edit{{"lock.go",
			"err == nil && before == held", `err == nil && before != ""`}},
		killer: "simultaneous_takeover: two holders",
	},
	{
		name: "gold without NX",
		rung: "gold",
		edits: []edit{{"lock.go",
			"return granted, nil", "return granted || true, nil"}},
		killer: "mutual_exclusion: two holders",
	},
	{
		name: "diamond with one token for each handle",
		rung: "diamond",
		edits: []edit{{"lock.go", "token := l.opts.Token()",
			"token := l.token\nif token == \"\" {\ntoken = l.opts.Token()\n}"}},
		killer: "late_own_release: foreign release",
	},

	{
		name: "watchdog that renews on the acquiring context",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "\t\tl.watch(token, sent)\n",
				"\t\tl.watch(ctx, token, sent)\n"},
			{"lock.go", "watch(token string, sent time.Time) {",
				"watch(ctx context.Context, token string, sent time.Time) {"},
			{"lock.go", "context.WithCancel(context.Background())",
				"context.WithCancel(ctx)"},
		},
		killer: "cancelled_context: two holders",
	},
	{
		name: "watchdog that releases on the caller's context",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "context.WithTimeout(context.WithoutCancel(ctx), l.ttl)",
				"context.WithTimeout(ctx, l.ttl)"}},
		killer: "cancelled_context: orphaned",
	},
	{
		name: "watchdog whose renewal does not compare",
		rung: "diamond/watchdog",
		edits: []edit{{"renew.lua",
			"if redis.call('GET', KEYS[1]) == ARGV[1] then", "if true then"}},
		killer: "renewal_reacquires: foreign renewal",
	},
	{
		name: "watchdog whose renewal creates the lock",
		rung: "diamond/watchdog",
		edits: []edit{
			{"renew.lua", "if redis.call('GET', KEYS[1]) == ARGV[1] then",
				"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])\n" +
					"  or redis.call('GET', KEYS[1]) == ARGV[1] then"}},
		killer: "renewal_reacquires: orphaned",
	},
	{
		name: "watchdog that gives up after one failed renewal",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go", "if err == nil && extended == 0 {",
			"if err != nil || extended == 0 {"}},
		killer: "renewal_fails_once: two holders",
	},
	{
		name: "watchdog that renews once a lease",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"lock.Sleep(ctx, pause)", "lock.Sleep(ctx, max(pause, l.ttl))"}},
		killer: "renewal_fails_once: two holders",
	},
	{
		name: "watchdog that never tells under a partition",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"time.AfterFunc(time.Until(sent.Add(l.ttl)), lose)",
			"time.AfterFunc(time.Until(sent.Add(l.ttl)), func() {})"}},
		killer: "partitioned_holder: not told",
	},
	{
		name: "watchdog that counts the lease from the reply",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"l.watch(token, sent)", "l.watch(token, time.Now())"}},
		killer: "partitioned_holder: not told",
	},
	{
		name: "watchdog that counts a renewal from its reply",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"deadline.Reset(time.Until(sent.Add(l.ttl)))",
			"deadline.Reset(l.ttl + 0*time.Since(sent))"}},
		killer: "partitioned_holder: not told",
	},
	{
		name: "watchdog that believes a late grant",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"time.Since(sent) >= l.ttl", "time.Since(sent) < 0"}},
		killer: "late_grant: two holders",
	},
	{
		name: "watchdog that refuses a late grant and keeps it",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go", "if err = l.release(ctx, token); errors",
			"if errors"}},
		killer: "late_grant: orphaned",
	},
	{
		name: "watchdog whose Unlock returns nil after a loss",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "if deleted == 0 {", "if deleted < 0 {"}},
		killer: "lost_lease_told: told a lie",
	},
	{
		name: "watchdog that Unlock does not stop",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"l.stop() // joined first: no renewal may follow the release", ""}},
		killer: "renewal_after_unlock: renewal after unlock",
	},
	{
		name: "watchdog that Unlock does not join",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go", "cancel(); <-done; deadline.Stop()",
			"cancel(); deadline.Stop()"}},
		killer: "renewal_after_unlock: renewal after unlock",
	},
	{
		name: "watchdog that releases without comparing",
		rung: "diamond/watchdog",
		edits: []edit{{"release.lua",
			"if redis.call('GET', KEYS[1]) == ARGV[1] then", "if true then"}},
		killer: "unlock_not_held: foreign release",
	},

	{
		name: "reentrant that renews on the acquiring context",
		rung: "reentrant",
		edits: []edit{
			{"lock.go", "\t\tl.watch(l.token, sent)\n",
				"\t\tl.watch(ctx, l.token, sent)\n"},
			{"lock.go", "watch(token string, sent time.Time) {",
				"watch(ctx context.Context, token string, sent time.Time) {"},
			{"lock.go", "context.WithCancel(context.Background())",
				"context.WithCancel(ctx)"},
		},
		killer: "cancelled_context: two holders",
	},
	{
		name: "reentrant whose renewal does not compare",
		rung: "reentrant",
		edits: []edit{
			{"renew.lua",
				"if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1 then",
				"if redis.call('EXISTS', KEYS[1]) == 1 then"}},
		killer: "renewal_reacquires: foreign renewal",
	},
	{
		name: "reentrant that enters again after its lease was lost",
		rung: "reentrant",
		edits: []edit{
			{"acquire.lua", "not (free and ARGV[3] == '1')", "not free"},
			{"lock.go", "\tcase <-l.Lost():\n\t\tgranted = false\n",
				"\tcase <-l.Lost():\n"},
		},
		killer: "lost_lease_told: told a lie",
	},
	{
		name: "reentrant whose Unlock returns nil after a loss",
		rung: "reentrant",
		edits: []edit{
			{"lock.go", "if released == 0 {", "if released < 0 {"}},
		killer: "lost_lease_told: told a lie",
	},
	{
		name: "reentrant that refuses a late grant and keeps it",
		rung: "reentrant",
		edits: []edit{{"lock.go", "if err = l.release(ctx, 0); errors",
			"if errors"}},
		killer: "late_grant: orphaned",
	},
	{
		name: "reentrant that keeps its owner id after a release",
		rung: "reentrant",
		edits: []edit{{"lock.go",
			"renewal may follow the release\n\t\tl.spent = true\n",
			"renewal may follow the release\n"}},
		killer: "late_own_release: foreign release",
	},
	{
		name: "reentrant with a new owner id for each attempt",
		rung: "reentrant",
		edits: []edit{{"lock.go",
			`if l.token == "" || l.spent {`, "if l.count == 0 {"}},
		killer: "lost_reply: self-deadlock",
	},
	{
		name: "reentrant whose inner Unlock frees the lock",
		rung: "reentrant",
		edits: []edit{{"lock.go",
			"l.release(ctx, left)", "l.release(ctx, 0)"}},
		killer: "nested: foreign release",
	},
	{
		name: "reentrant that counts at the server, with HINCRBY",
		rung: "reentrant",
		edits: []edit{
			{"acquire.lua", "redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])",
				"redis.call('HINCRBY', KEYS[1], ARGV[1], 1)"},
			{"release.lua", "if ARGV[3] == '0' then",
				"if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) < 1 then"},
			{"release.lua", "redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])\n",
				""},
		},
		killer: "lost_reply: orphaned",
	},

	{
		name: "notify that trusts in messages alone",
		rung: "reentrant/notify",
		edits: []edit{{"waiters.go",
			"time.NewTimer(max(remaining, time.Millisecond))",
			"time.NewTimer(time.Hour)"}},
		killer: "lost_wakeup: orphaned",
	},

	{
		name: "fenced that counts its token up when asked again",
		rung: "reentrant/fenced",
		edits: []edit{
			{"acquire.lua", "local token = mine and", "local token = false and"}},
		killer: "lost_reply: wrong token",
	},
	{
		name: "fenced that counts its token up on re-entry",
		rung: "reentrant/fenced",
		edits: []edit{
			{"acquire.lua", "local token = mine and", "local token = false and"},
			{"lock.go", "\tif l.count > 0 {\n",
				"\tif l.count > 0 {\n\t\tl.fence = fence\n"},
		},
		killer: "nested: wrong token",
	},
	{
		name: "fenced with token 0 after a lost reply",
		rung: "reentrant/fenced",
		edits: []edit{
			{"acquire.lua",
				"return tonumber(token)", "return mine and -1 or tonumber(token)"},
			{"lock.go", ".Uint64()", ".Int64()"},
			{"lock.go", "granted := fence > 0", "granted := fence != 0"},
			{"lock.go", "l.count, l.fence = 1, fence",
				"l.count, l.fence = 1, uint64(max(fence, 0))"},
		},
		killer: "lost_reply: wrong token",
	},

	{
		name: "cohort that trusts in messages alone",
		rung: "reentrant/cohort",
		edits: []edit{{"turns.go", "time.NewTimer(again)",
			"time.NewTimer(time.Hour)"}},
		killer: "lost_wakeup: orphaned",
	},
	{
		name: "cohort that keeps its owner id after a release",
		rung: "reentrant/cohort",
		edits: []edit{{"queue.go", "\t\tc.id, c.lease = \"\", nil\n",
			"\t\tc.lease = nil\n"}},
		killer: "late_own_release: foreign release",
	},
	{
		name: "watchdog whose renewal goes on after a failed Unlock",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "l.stop() // joined first: no renewal may follow the" +
				" release\n\treturn l.release(ctx, l.token)",
				"err := l.release(ctx, l.token)\nif err == nil {\nl.stop()\n}\n" +
					"return err"}},
		killer: "failed_unlock: renewal after unlock",
	},
	{
		name: "watchdog whose Unlock closes Lost",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go", "cancel(); <-done; deadline.Stop()",
			"lose(); <-done; deadline.Stop()"}},
		killer: "unlock_is_no_loss: told a lie",
	},
	{
		name: "watchdog whose Lost looks at the clock after an Unlock, too",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go",
			"if ctx.Err() == nil && time.Until(", "if time.Until("}},
		killer: "unlock_is_no_loss: told a lie",
	},
	{
		name: "watchdog that renews in seconds, by the number of milliseconds",
		rung: "diamond/watchdog",
		edits: []edit{{"renew.lua", "'PEXPIRE', KEYS[1], ARGV[2]",
			"'EXPIRE', KEYS[1], ARGV[2]"}},
		killer: "lease_length: wrong lease",
	},
	{
		name: "watchdog that renews for whole seconds",
		rung: "diamond/watchdog",
		edits: []edit{{"renew.lua", "'PEXPIRE', KEYS[1], ARGV[2]",
			"'EXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000)"}},
		killer: "lease_length: wrong lease",
	},
	{
		name: "gold with twice the lease at the server",
		rung: "gold",
		edits: []edit{{"lock.go", `"locked", l.ttl)`,
			`"locked", 2*l.ttl)`}},
		killer: "lease_length: wrong lease",
	},
	{
		name: "watchdog whose refused TryLock overwrites the held token",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "\tif granted {\n\t\tl.token = token\n",
				"\tl.token = token\n\tif granted {\n"}},
		killer: "held_token: told a lie",
	},
	{
		name: "watchdog that ends before it has asked for another grant",
		rung: "diamond/watchdog",
		edits: []edit{
			{"lock.go", "\ttoken, sent := l.opts.Token(), time.Now()\n",
				"\tl.stop()\n\ttoken, sent := l.opts.Token(), time.Now()\n"}},
		killer: "held_token: two holders",
	},
	{
		name: "fenced with a counter that ends after four leases",
		rung: "reentrant/fenced",
		edits: []edit{
			{"acquire.lua", "return tonumber(token)",
				"redis.call('PEXPIRE', KEYS[2], 4 * ARGV[2])\n" +
					"return tonumber(token)"}},
		killer: "tokens_rise: wrong token",
	},

	{
		name:   "cohort whose last owner does not keep an unanswered id",
		rung:   "reentrant/cohort",
		edits:  []edit{{"queue.go", "\t\tl.token, l.spent = c.id, false\n", ""}},
		killer: "lost_reply: self-deadlock",
	},

	{
		name: "watchdog whose renewal takes milliseconds for seconds",
		rung: "diamond/watchdog",
		edits: []edit{{"renew.lua", "redis.call('PEXPIRE'",
			"redis.call('EXPIRE'"}},
		killer: "crash_after_renewal: orphaned",
	},
	{
		name: "notify that asks only once, and then listens",
		rung: "reentrant/notify",
		edits: []edit{{"waiters.go",
			"notice(q.Front().Value.(*waiter).woken)", "_ = q"}},
		killer: "prompt_wake: late wake-up",
	},
	{
		name: "notify that wakes every waiter",
		rung: "reentrant/notify",
		edits: []edit{{"waiters.go",
			"\t\t\tq.MoveToBack(e)\n\t\t\treturn\n", ""}},
		killer: "prompt_wake: thundering herd",
	},
	{
		name: "notify whose waiter gives up and wakes nobody",
		rung: "reentrant/notify",
		edits: []edit{{"waiters.go",
			"} else if !granted {\n\t\twakeOne(q)\n", ""}},
		killer: "impatient_waiter: late wake-up",
	},
	{
		name: "cohort whose turn has no lease",
		rung: "reentrant/cohort",
		edits: []edit{{"release.lua",
			"redis.call('SET', KEYS[3], next[1], 'PX', next[2] % 1000000)",
			"redis.call('SET', KEYS[3], next[1])"}},
		killer: "dead_waiter: orphaned",
	},
	{
		name: "cohort that passes a lost lease on",
		rung: "reentrant/cohort",
		edits: []edit{{"queue.go",
			"\t\tc.holder, c.id = nil, \"\"\n\t\tc.next()\n",
			"\t\tif first := c.queue.Front(); first != nil {\n" +
				"c.lease = gone\nc.admit(first.Value.(*waiter).lock)\n" +
				"} else {\nc.holder, c.id = nil, \"\"\n}\n" +
				"c.next()\n"}},
		killer: "lost_lease_passed_on: two holders",
	},
	{
		name:   "cohort without a bound on what it passes on",
		rung:   "reentrant/cohort",
		edits:  []edit{{"queue.go", "const passes = 16", "const passes = 1 << 30"}},
		killer: "busy_neighbors: starvation",
	},
	{
		name: "redlock that releases the losers after it has judged the validity",
		rung: "redlock",
		edits: []edit{{"lock.go", "\t\tl.token = token\n",
			"\t\tl.release(ctx, \"nobody's\")\n\t\tl.token = token\n"}},
		killer: "late_with_losers: two holders",
	},
	{
		name: "redlock without the drift",
		rung: "redlock",
		edits: []edit{{"lock.go",
			"time.Since(sent) - l.drift()", "time.Since(sent)"}},
		killer: "clock_drift: two holders",
	},
	{
		name: "watchdog that renews a grant which it refuses as too late",
		rung: "diamond/watchdog",
		edits: []edit{{"lock.go", "\tif granted && time.Since(sent) >= l.ttl {\n",
			"\tif granted && time.Since(sent) >= l.ttl {\n" +
				"\t\tl.watch(token, time.Now())\n"}},
		killer: "refused_by_itself: self-deadlock",
	},
}

// Every mutant is killed by the story that was written for its mistake. With -v
// each is told all stories, and all that kill it are named.
func TestEveryMutantIsKilled(t *testing.T) {
	told := tellMutants(t, testing.Verbose())
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			rung, err := ladder.Find(m.rung)
			require.NoError(t, err)
			scenario, invariant, _ := strings.Cut(m.killer, ": ")

			control := told.find(m.rung, scenario, invariant)
			require.Contains(t, []scenarios.Verdict{scenarios.Holds,
				scenarios.DoesNotArise}, control.Verdict,
				"the rung itself breaks %s or fails: %s", m.killer, control.Event)
			if killed := told.find(m.name, scenario, invariant); assert.Equal(t,
				scenarios.Breaks, killed.Verdict,
				"it lives through %s %s", m.killer, killed.Event) {
				t.Logf("killed by %s\n%s", m.killer, killed.Event)
			}
			for _, v := range told {
				if v.Mutant != m.name || v.key() == m.killer {
					continue
				}
				known := slices.Contains(rung.Flaws, lock.Flaw{
					Scenario: v.Scenario, Invariant: v.Invariant})
				if (v.Verdict == scenarios.Breaks) != known {
					t.Logf("also %s: %s %s", v.key(), v.Verdict, v.Event)
				}
			}
		})
	}
}

// controls are the rungs without a mistake, under their own names.
func controls() []mutant {
	var rungs []mutant
	for _, m := range mutants {
		control := mutant{name: m.rung, rung: m.rung}
		if !slices.ContainsFunc(rungs, func(c mutant) bool {
			return c.rung == m.rung
		}) {
			rungs = append(rungs, control)
		}
	}
	return rungs
}

// verdict is what one story says of a mutant.
type verdict struct {
	Mutant, Scenario, Invariant, Event string
	Verdict                            scenarios.Verdict
}

func (v verdict) key() string { return v.Scenario + ": " + v.Invariant }

type verdicts []verdict

func (all verdicts) find(mutant, scenario, invariant string) verdict {
	for _, v := range all {
		if v.Mutant == mutant && v.Scenario == scenario &&
			(v.Invariant == invariant || v.Verdict == fails) {
			return v
		}
	}
	return verdict{Verdict: "was not told"}
}

// tellMutants compiles all mutants into one test binary and lets it tell them
// their stories: the killer's, or the whole catalogue. Nothing is written into
// the module: an overlay shows the mutants to the compiler as packages of it.
func tellMutants(t *testing.T, catalogue bool) verdicts {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := map[string]string{}
	show := func(path string, content []byte) {
		t.Helper()
		file := filepath.Join(dir, fmt.Sprint(len(overlay)))
		require.NoError(t, os.WriteFile(file, content, 0o600))
		overlay[filepath.Join(root, filepath.FromSlash(path))] = file
	}

	var plan []planned
	for i, m := range slices.Concat(mutants, controls()) {
		p := planned{Package: fmt.Sprintf("m%02d", i), Name: m.name, Rung: m.rung}
		for _, other := range mutants {
			scenario, _, _ := strings.Cut(other.killer, ": ")
			if other.name == m.name || other.rung == m.name {
				p.Scenarios = append(p.Scenarios, scenario)
			}
		}
		if catalogue {
			p.Scenarios = nil
			for _, s := range scenarios.Catalogue {
				p.Scenarios = append(p.Scenarios, s.Name)
			}
		}
		for name, content := range edited(t, m) {
			show("scenarios/mutants/"+p.Package+"/"+name, content)
		}
		plan = append(plan, p)
	}
	var source bytes.Buffer
	require.NoError(t, runner.Execute(&source, plan))
	show("scenarios/mutants/runner_test.go", source.Bytes())
	exported, err := os.ReadFile("export_test.go")
	require.NoError(t, err)
	show("scenarios/export.go", exported)
	mapping, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), mapping,
		0o600))

	binary := filepath.Join(dir, "mutants.exe")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary,
		"-gcflags="+module+"/scenarios/mutants/...=-N -l", // compiled sooner
		"-overlay", filepath.Join(dir, "overlay.json"), "./scenarios/mutants")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "the mutants do not compile:\n%s", out)
	run := exec.Command(binary, "-test.timeout=5m")
	run.Dir = dir
	out, err = run.CombinedOutput()
	require.NoError(t, err, "the mutants' run ends with:\n%s", out)

	var told verdicts
	report, err := os.ReadFile(filepath.Join(dir, "verdicts.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(report, &told))
	return told
}

// edited are the mutant's files: its rung's, with the edits.
func edited(t *testing.T, m mutant) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	rung := os.DirFS(filepath.Join("..", filepath.FromSlash(m.rung)))
	entries, err := fs.ReadDir(rung, ".")
	require.NoError(t, err)
	for _, e := range entries {
		source := strings.HasSuffix(e.Name(), ".lua") ||
			strings.HasSuffix(e.Name(), ".go") &&
				!strings.HasSuffix(e.Name(), "_test.go")
		if !source {
			continue
		}
		files[e.Name()], err = fs.ReadFile(rung, e.Name())
		require.NoError(t, err)
	}
	for _, e := range m.edits {
		content := string(files[e.file])
		require.Equal(t, 1, strings.Count(content, e.old),
			"%s: in %s/%s this must stand exactly once: %s", m.name, m.rung,
			e.file, e.old)
		files[e.file] = []byte(strings.Replace(content, e.old, e.new, 1))
	}
	return files
}

// planned is a mutant as the runner knows it.
type planned struct {
	Package, Name, Rung string
	Scenarios           []string
}

// runner is the test that tells the mutants their stories. It never fails: what
// a verdict means is said by the test that reads it.
var runner = template.Must(template.New("").Parse(`package mutants

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	{{range .}}
	{{.Package}} "github.com/lockladder/lockladder/scenarios/mutants/{{.Package}}"
	{{- end}}
)

type mutant struct {
	name, rung string
	build      lock.Build
	scenarios  []string
}

var mutants = []mutant{
	{{range . -}}
	{ {{printf "%q" .Name}}, {{printf "%q" .Rung}},
		{{if eq .Rung "redlock"}}several{{else}}one{{end}}({{.Package}}.New),
		{{printf "%#v" .Scenarios}} },
	{{end}}
}

func options(env lock.Env) []lock.Option {
	return append([]lock.Option{lock.Clock(env.Now)}, env.Options...)
}

func one[L lock.Lock](construct func(redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return construct(env.Nodes[0], env.Key, env.TTL, options(env)...)
	}
}

func several[L lock.Lock](construct func([]redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return construct(env.Nodes, env.Key, env.TTL, options(env)...)
	}
}

type verdict struct {
	Mutant, Scenario, Invariant, Event string
	Verdict                            scenarios.Verdict
}

func TestTell(t *testing.T) {
	var told []verdict
	var mu sync.Mutex
	t.Run("", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				rung, err := ladder.Find(m.rung)
				require.NoError(t, err)
				for _, name := range m.scenarios {
					results, err := scenarios.Tell(t, name, m.build,
						laddertest.Options(rung)...)
					mu.Lock()
					if err != nil {
						told = append(told, verdict{m.name, name, "",
							err.Error(), "fails"})
					}
					for _, r := range results {
						told = append(told, verdict{m.name, name, r.Invariant,
							r.Event, r.Verdict})
					}
					mu.Unlock()
				}
			})
		}
	})
	report, err := json.Marshal(told)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("verdicts.json", report, 0o600))
}
`))
