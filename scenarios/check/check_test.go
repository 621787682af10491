package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

var onRedis = servers.Flag()

// atOnce is how many rungs are checked at the same time. A check mostly waits.
const atOnce = 6

// unsaid are the scenarios that the protocol can't run as they are: it has no word
// for a lease that is in the key's value.
var unsaid = map[string][]string{
	"silver/timestamp": {"unlock_expired", "lease_length"},
}

// The rungs are programs here, as a lock in another language is, and get the
// verdicts that they have in virtual time: this is the test of the protocol.
func TestEveryRungBreaksTheSameThroughTheProtocol(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	check := filepath.Join(t.TempDir(), "check")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", check).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, r := range ladder.Rungs {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			var virtual scenarios.Report
			t.Run("in virtual time", func(t *testing.T) {
				virtual = locktest.Scenarios(t, r.Name)
			})
			flaws := declared(t, r.Name, virtual)
			run := func(more ...string) (scenarios.Report, *scenarios.Grade) {
				return checked(t, check, append(more, "-flaws", flaws, "--", check, "-serve", r.Name)...)
			}
			report, grade := run()
			require.NotEmpty(t, report)
			if r.Name != "silver/timestamp" { // which breaks when a client's clock is set
				assert.Equal(t, virtual.Grade().Rung, grade.Rung)
			}
			report = slices.DeleteFunc(report, func(one scenarios.Result) bool {
				return slices.Contains(unsaid[r.Name], one.Scenario) ||
					// A program offers what its lock has, and the exhibits break the rest.
					one.Verdict == scenarios.NotOffered && !(r.Renews && reenters(r))
			})
			locktest.SameVerdicts(t, report, virtual, func(scenario string) scenarios.Report {
				again, _ := run("-run", "^"+scenario+"$")
				return again
			})
		})
	}
}

// declared is a file with the flaws that a rung has in virtual time. A flaw that isn't
// declared is doubted on a busy machine, and its scenario is run up to three times.
func declared(t *testing.T, rung string, virtual scenarios.Report) (file string) {
	var b strings.Builder
	for _, r := range virtual {
		if r.Verdict == scenarios.Breaks && !slices.Contains(unsaid[rung], r.Scenario) {
			fmt.Fprintf(&b, "%s: %s\n", r.Scenario, r.Invariant)
		}
	}
	file = filepath.Join(t.TempDir(), "flaws.txt")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// checked runs the command and returns its results, and the grade if it ran all scenarios.
func checked(t *testing.T, check string, args ...string) (scenarios.Report, *scenarios.Grade) {
	cmd := exec.CommandContext(t.Context(), check, append([]string{"-redis", servers.Auto, "-json"}, args...)...)
	var diagnosis bytes.Buffer
	cmd.Stderr = &diagnosis
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code > terminal.Failed {
		t.Fatal(err, diagnosis.String())
	}
	var all struct {
		Results   scenarios.Report
		Grade     *scenarios.Grade
		NoVerdict []string `json:"no_verdict"`
	}
	require.NoError(t, json.Unmarshal(out, &all))
	assert.NotContains(t, string(out), "ErrNotHeld", "which is Go's")
	assert.Empty(t, all.NoVerdict)
	return all.Results, all.Grade
}

func TestMain(m *testing.M) {
	if process.Name() != "" {
		main() // this tidies up a borrowed server
	}
	testscript.Main(servers.AtOnce{M: m, Asked: onRedis, Parallel: atOnce},
		map[string]func(){"check": main, "greedy": greedy})
}

// greedy is a program whose lock wants more servers than there are.
func greedy() {
	rung, err := ladder.Find("redlock")
	if err == nil {
		err = protocol.Serve(os.Stdin, os.Stdout, protocol.Answer{Servers: 49}, rung.Build)
	}
	if err != nil {
		os.Exit(1)
	}
}

// TestScripts runs the scripts of testdata. Those whose condition is [server] start
// servers, which LOCKLADDER_REDIS asks for. $SOMEBODYS is a server that runs already, and
// $STARTER the lock that the challenges begin with.
func TestScripts(t *testing.T) {
	somebodys := miniredis.RunT(t)
	starter, err := filepath.Abs("../../docs/challenges/lock.py")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOMEBODYS", somebodys.Addr())
			env.Setenv("STARTER", starter)
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "server" && os.Getenv(servers.Variable) != "", nil
		}})
}

// languages start the locks of testdata/challenges, which are written in each of them.
var languages = map[string][]string{
	"python": {"python3", filepath.Join("testdata", "challenges", "lock.py")},
	"node":   {"node", filepath.Join("testdata", "challenges", "lock.mjs")},
}

// modes are what the lock in a language may be: the solution of a challenge, "4", or a wrong
// one, "4 no token".
func modes(t *testing.T, file string) (right, wrong []string) {
	text, err := inCheckout("scenarios/check/" + filepath.ToSlash(file))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^  +"?(\d( [^"]+)?)"?: `).FindAllStringSubmatch(text, -1) {
		if found[2] == "" {
			right = append(right, found[1])
		} else {
			wrong = append(wrong, found[1])
		}
	}
	return right, wrong
}

// A solution passes its challenge and not the next one. redlock follows diamond and has no
// next one.
func TestASolutionPassesItsChallengeInEveryLanguage(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	locktest.Long(t, "it checks 80 locks in real time")
	check := filepath.Join(t.TempDir(), "check")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", check).CombinedOutput()
	require.NoError(t, err, string(out))
	all := len(scenarios.Challenges())
	atOnce := make(chan struct{}, 4)
	for language, command := range languages {
		right, wrong := modes(t, command[1])
		require.Len(t, right, all, language)
		require.Len(t, wrong, 4*all, language)
		try := func(challenge, mode string, passes bool) {
			t.Run(language+"/"+challenge+"/"+mode, func(t *testing.T) {
				t.Parallel()
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				text, passed := tried(t.Context(), check, challenge, command, mode)
				assert.Equal(t, passes, passed, text)
			})
		}
		for i, mode := range right {
			try(mode, mode, true)
			if i+1 < all {
				try(right[i+1], mode, false)
			}
		}
		for _, mode := range wrong {
			try(mode[:1], mode, false)
		}
	}
}

// tried says whether a lock passes a challenge.
func tried(ctx context.Context, check, challenge string, command []string, mode string) (
	text string, passed bool) {
	args := append([]string{"-challenge", challenge, "--"}, command...)
	out, err := exec.CommandContext(ctx, check, append(args, mode)...).CombinedOutput()
	return string(out), err == nil && strings.Contains(string(out), "passed: your lock stands on")
}

// The command shows what the page has.
func TestEveryChallengeHasATaskAndThreeHints(t *testing.T) {
	for i, c := range scenarios.Challenges() {
		task, hints := readChallenge(i + 1)
		assert.Less(t, 300, len(task))
		assert.Contains(t, task, "stands on "+c.Rung)
		assert.NotRegexp(t, "<!--|[`*]|\\]\\(", plain(task+strings.Join(hints, "\n")))
		assert.Len(t, hints, 3)
	}
}
