package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
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
				return checked(t, check, append(more, "-flaws", flaws, "--", check,
					"-serve", r.Name)...)
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
			locktest.SameVerdicts(t, report, virtual,
				func(scenario string) scenarios.Report {
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
	cmd := exec.CommandContext(t.Context(), check,
		append([]string{"-redis", servers.Auto, "-json"}, args...)...)
	var diagnosis bytes.Buffer
	cmd.Stderr = &diagnosis
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != asDeclared && code != otherwise {
		t.Fatal(err, diagnosis.String())
	}
	var all struct {
		Results   scenarios.Report
		Grade     *scenarios.Grade
		NoVerdict []string `json:"no_verdict"`
	}
	require.NoError(t, json.Unmarshal(out, &all))
	assert.Empty(t, all.NoVerdict)
	return all.Results, all.Grade
}
