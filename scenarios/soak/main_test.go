package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/mutants"
	"github.com/lockladder/lockladder/internal/process"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/scenarios/soak/internal/nemesis"
	"github.com/lockladder/lockladder/scenarios/soak/internal/worker"
)

var onRedis = serverstest.Flag()

// The workers of a soak are this program once more, which is the test here.
func TestMain(m *testing.M) {
	process.Serve(worker.Name, worker.Main)
	flag.Parse()
	os.Exit(m.Run())
}

// own skips a test that needs servers of our own when none are asked for.
func own(t *testing.T) {
	t.Helper()
	if *onRedis != serverstest.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
}

// soaked runs the command, and returns its status and all that it prints.
func soaked(t *testing.T, ctx context.Context, args ...string) (status int,
	output string) {
	t.Helper()
	var out, log bytes.Buffer
	status = command(ctx, args, &out, &log)
	t.Logf("%s\n%s\n%s", strings.Join(args, " "), &out, &log)
	return status, out.String() + log.String()
}

// Each comes with the faults that its mistake needs and with keys that are often
// free, so that a short soak is enough.
func TestAWrongLockIsCaught(t *testing.T) {
	own(t)
	for _, m := range mutants.All {
		c := m.Soak
		if c == nil || c.Faults == "" {
			continue
		}
		lock := "wrong/" + c.Name
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			dir := t.TempDir()
			status, output := soaked(t, t.Context(), "-redis", "auto",
				"-rungs", lock, "-only", c.Faults, "-keys", "8", "-seed", "2",
				"-for", c.Last, "-dir", dir)
			require.Equal(t, violated, status)
			assert.Regexp(t, "(?m)^("+c.Breaks+") at ", output)
			assert.Contains(t, output, "again: go run ./scenarios/soak -rungs "+
				lock+" -seed 2 -for "+c.Last+" -keys 8 -only "+c.Faults+
				" -redis auto\n")

			kept, err := filepath.Glob(filepath.Join(dir, "soak-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
			again, verdict := soaked(t, t.Context(), "judge", kept[0])
			assert.Equal(t, violated, again)
			assert.Contains(t, output, verdict, "judged from the files alone")
		})
	}
}

// Nothing else is wrong while a server sleeps, and its lateness is no lock's fault.
func TestAServerThatIsLateIsWrittenDown(t *testing.T) {
	own(t)
	dir := t.TempDir()
	status, _ := soaked(t, t.Context(), "-redis", "auto", "-rungs", "wrong/none",
		"-only", "debug-sleep", "-seed", "1", "-for", "4s", "-dir", dir)
	assert.Equal(t, held, status)
	kept, err := filepath.Glob(filepath.Join(dir, "soak-*", "nemesis.jsonl"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	events, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	assert.Regexp(t, `"fault".*"debug-sleep"(?s:.*)"kind":"late".*"for":\d+`,
		string(events))
}

func TestARightLockHoldsAndCtrlCGivesTheVerdictSoFar(t *testing.T) {
	own(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	status, output := soaked(t, ctx, "-redis", "auto", "-rungs",
		"wrong/none", "-seed", "1", "-for", "10m")
	assert.Equal(t, held, status)
	sections := regexp.MustCompile(`(\d+) writes, `).FindStringSubmatch(output)
	require.NotNil(t, sections)
	assert.NotEqual(t, "0", sections[1], "the lock was used")
	assert.Contains(t, output, "every process had every key within")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "runs that held, and servers, are removed")
}

func TestWhatIsNotUnderstoodIsSaid(t *testing.T) {
	for args, wanted := range map[string]string{
		"":                             "write -redis auto",
		"-redis host:6379":             "write -redis auto",
		"-redis auto -rungs golden":    `no rung "golden"`,
		"-redis auto -rungs a,,b":      "an empty name in the list",
		"-redis auto -rungs wrong/it":  "wrong/blind_release",
		"-redis auto -only flood":      "blackhole",
		"-redis auto -modes flood":     "flushall",
		"-redis auto -driver fast":     "strict, defaults or both",
		"-redis auto -for -1s":         "must be positive",
		"-redis auto -workers 0":       "at least 1",
		"-redis auto more":             "soak judge DIR",
		"-redis auto -goroutines many": "-goroutines",
		"judge":                        "the directory of a run",
		"judge /no/such/directory":     "no such file",
	} {
		t.Run(args, func(t *testing.T) {
			var out, log bytes.Buffer
			status := command(t.Context(), strings.Fields(args), &out, &log)
			assert.Equal(t, usage, status)
			assert.Contains(t, log.String(), wanted)
			assert.Equal(t, 1, strings.Count(log.String(), "\n"), "one line")
			assert.Empty(t, out.String())
		})
	}
}

func TestModesComeOnlyWhenTheyAreNamed(t *testing.T) {
	faults := func(args ...string) (names []string) {
		o, err := parse(append(args, "-redis", "auto"), os.Stderr)
		require.NoError(t, err)
		require.Len(t, o.configs, 1)
		for _, f := range o.configs[0].Faults {
			names = append(names, f.Name)
		}
		return names
	}
	assert.Len(t, faults(), len(nemesis.All)-2)
	assert.NotContains(t, faults(), "flushall")
	assert.Contains(t, faults("-modes", "flushall"), "flushall")
	assert.Contains(t, faults("-modes", "flushall"), "late")
	assert.Equal(t, []string{"late", "blackhole"}, faults("-only", "late,blackhole"))
	assert.Equal(t, []string{"restart-empty"}, faults("-only", "restart-empty"))
	assert.Equal(t, []string{"flushall", "late"},
		faults("-only", "late", "-modes", "flushall"))
}
