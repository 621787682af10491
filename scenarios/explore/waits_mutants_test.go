package explore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages/generated"
)

// waitMutant is a mistake in the waiting of a rung: its own code, with one place
// changed. What finds it is the row of waitRows with these bounds. Three clients
// make more states than are walked here, so what needs them is one schedule.
type waitMutant struct {
	name, file string // from the top of the module
	old, new   string
	rung       string
	bounds     string // the row's; "" for the schedule givesUp
}

var waitMutants = []waitMutant{
	{"notify is never asked again once it has subscribed",
		"reentrant/notify/waiters.go",
		"notice(q.Front().Value.(*waiter).woken)\n", "_ = q.Front()\n",
		"reentrant/notify", "2 clients, 5 attempts"},
	{"a waiter that gives up wakes nobody",
		"reentrant/notify/waiters.go",
		"} else if !granted {", "} else if false {",
		"reentrant/notify", ""},
	{"a release publishes nothing",
		"reentrant/notify/release.lua",
		"redis.call('PUBLISH', ARGV[4], 'released')", "",
		"reentrant/notify", "2 clients, 5 attempts"},
	{"cohort is never asked again once it has subscribed",
		"reentrant/cohort/turns.go",
		"for _, c := range s.listeners[m.Channel] {\n\t\t\t\tc.tell(\"\")",
		"for range s.listeners[m.Channel] {",
		"reentrant/cohort", "2 clients, 5 attempts"},
}

// The mutants are built from the rungs' own code, by the compiler's overlay, and
// walked in a process of their own.
func TestTheExplorerFindsTheMutantsOfWaiting(t *testing.T) {
	if !*all {
		t.Skip("go test ./scenarios/explore -run MutantsOfWaiting -all")
	}
	top, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	broken := regexp.MustCompile(`lost wake-up +breaks: .*: (wait: .*)`)
	table := "| mistake | rung | bounds | breaks | by the schedule |\n" +
		"|---|---|---|---|---|\n"
	for _, m := range waitMutants {
		t.Run(m.name, func(t *testing.T) {
			file := filepath.Join(top, filepath.FromSlash(m.file))
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), m.old),
				"%s has no such place any more, or several: %q", m.file, m.old)
			dir := t.TempDir()
			mutated := filepath.Join(dir, filepath.Base(file))
			require.NoError(t, os.WriteFile(mutated,
				[]byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600))
			overlay, err := json.Marshal(map[string]any{
				"Replace": map[string]string{file: mutated}})
			require.NoError(t, err)
			list := filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(list, overlay, 0o600))

			run, by := "^TestAWaiterThatGivesUpWakesTheNext$", "one schedule"
			if m.bounds != "" {
				run, by = "^TestNoWakeUpIsLost$/^rungs$", m.bounds
				for part := range strings.SplitSeq(m.rung+"/"+m.bounds, "/") {
					part = strings.ReplaceAll(part, " ", "_")
					run += "/^" + regexp.QuoteMeta(part) + "$"
				}
			}
			out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay",
				list, "-count=1", "-run", run, ".", "-all", "-v").CombinedOutput()
			require.Error(t, err, "the mutant survives: %s", out)
			found := broken.FindStringSubmatch(string(out))
			require.NotNil(t, found, "%s", out)
			table += fmt.Sprintf("| %s | %s | %s | lost wake-up | `%s` |\n", m.name,
				m.rung, by, found[1])
		})
	}
	if !t.Failed() && strings.Count(table, "\n") == len(waitMutants)+2 {
		generated.Compare(t, document, "waiting mutants", table)
	}
}
