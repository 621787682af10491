package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

var onRedis = servers.Flag()

// The workers of a soak are this program once more, which is the test here.
func TestMain(m *testing.M) {
	serve(workerName, workerMain)
	misbehave() // see process_test.go
	testscript.Main(m, map[string]func(){"soak": main})
}

// TestScripts runs the scripts of testdata. Those whose condition is [server] start servers.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			return name == "server" && *onRedis == servers.Auto, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"refused": refused}})
}

// refused PATTERN ARG... runs the soak with arguments that it doesn't understand. It
// must say why in one line, print nothing else, and exit with 2.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("soak", args[1:]...)
	if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != 2 {
		ts.Fatalf("%v, and not status 2", err)
	}
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if !regexp.MustCompile(`\Asoak: .*` + args[0] + `.*\n\z`).MatchString(said) {
		ts.Fatalf("not one line with %s: %q", args[0], said)
	}
}

// Each comes with the faults that its mistake needs and with keys that are often
// free, so that a short soak is enough. blind_release and endless_renewal need all faults,
// and longer than a test takes.
func TestAWrongLockIsCaught(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	for name, c := range map[string]struct{ faults, last, breaks string }{
		"lease_from_reply": {"delay", "20s", "two holders|lost update"},
		"deaf_waiter":      {"pause-all", "10s", "hangs"},
		"no_lease":         {"kill", "10s", "left behind"},
		"early_token":      {"stop", "10s", "wrong token"},
	} {
		lock := "wrong/" + name
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			dir := t.TempDir()
			var out, log bytes.Buffer
			status := command(t.Context(), []string{"-redis", "auto", "-rungs", lock,
				"-only", c.faults, "-keys", "8", "-seed", "2", "-for", c.last,
				"-dir", dir}, &out, &log)
			t.Logf("%s\n%s", &out, &log)
			require.Equal(t, violated, status)
			assert.Regexp(t, "(?m)^("+c.breaks+") at ", out.String())
			assert.Contains(t, out.String(), "again: cd field && go run ./soak -rungs "+
				lock+" -seed 2 -for "+c.last+" -keys 8 -only "+c.faults+
				" -redis auto\n")

			kept, err := filepath.Glob(filepath.Join(dir, "soak-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
			var verdict bytes.Buffer
			again := command(t.Context(), []string{"judge", kept[0]}, &verdict, &log)
			assert.Equal(t, violated, again)
			assert.Contains(t, out.String(), verdict.String(), "judged from the files alone")
		})
	}
}

func TestAViolationCountsForMoreThanARunThatCouldNotBeJudged(t *testing.T) {
	assert.Equal(t, violated, worse(violated, failed))
	assert.Equal(t, violated, worse(failed, violated))
	assert.Equal(t, failed, worse(failed, held))
	assert.Equal(t, held, worse(held, held))
}

func TestModesComeOnlyWhenTheyAreNamed(t *testing.T) {
	faults, err := selectFaults("")
	require.NoError(t, err)
	assert.Len(t, faults, len(allFaults)-2)
	faults, err = selectFaults("late,flushall")
	require.NoError(t, err)
	assert.Equal(t, []string{"flushall", "late"}, []string{faults[0].Name, faults[1].Name})
}
