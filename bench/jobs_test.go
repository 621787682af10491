package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/jobs/cache"
	"github.com/lockladder/lockladder/internal/jobs/imports"
	"github.com/lockladder/lockladder/internal/ladder"
)

func TestWhatAJobDoesNotUnderstandIsAUsageError(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		want string
	}{
		"an unknown workload":  {"-workload export", `no workload "export", there are sale, cache and import`},
		"no workload":          {"-workload", "needs an argument"},
		"another one's flag":   {"-workload cache -stock 5", "(-workload cache -help lists the flags)"},
		"no requests":          {"-workload cache -requests 0", "0 requests"},
		"too many requests":    {"-workload cache -requests 1000001", "at most 1000000"},
		"no services":          {"--workload=cache -services 0", "0 services"},
		"a load in the past":   {"-workload=cache -load -1s", "must not be negative"},
		"a flag of the sale":   {"-workload cache -stock 5", "not defined: -stock"},
		"a flag of the import": {"-workload cache -kill 5", "not defined: -kill"},
		"an unknown rung":      {"-workload cache -rungs lead", `there is no "lead"`},
		"a baseline":           {"-workload import -rungs no-lock", `there is no "no-lock"`},
		"an unknown form":      {"-workload import -form better", `no form "better", the forms are source and improved`},
		"no groups":            {"-workload import -groups 5,0", "0 groups"},
		"groups in words":      {"-workload import -groups many", `"many" is no number`},
		"no workers":           {"-workload import -workers 0", "0 workers"},
		"no tasks":             {"-workload import -tasks 0", "0 tasks"},
		"too many ungrouped":   {"-workload import -ungrouped 101", "0 to 100"},
		"a short lease":        {"-workload import -ttl 9ms", "at least 10ms"},
		"killed goroutines":    {"-workload import -kill 1", "-kill needs workers that are processes"},
		"more faults than tasks": {"-workload import -tasks 5 -fail 6",
			"more faults of a kind"},
		"a stray argument": {"-workload import gold", `unexpected argument "gold"`},
		"no file name":     {"-workload import -json ", "-json needs the name"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := bench(t.Context(),
				strings.Split(c.args, " ")...)
			assert.Equal(t, 2, status)
			oneLineOnly(t, stderr, c.want)
			assert.Empty(t, stdout)
		})
	}
}

func TestAJobHasAHelpOfItsOwn(t *testing.T) {
	_, sale, _ := bench(t.Context(), "-help")
	assert.Contains(t, sale, "  -workload ")
	for workload, flags := range map[string]string{
		"cache":  "requests services load ttl poll timeout redis rungs json",
		"import": "form groups workers tasks ungrouped work kill fail overrun seed",
	} {
		status, stdout, stderr := bench(t.Context(), "-workload", workload, "-help")
		assert.Equal(t, 0, status)
		assert.Empty(t, stderr)
		for name := range strings.FieldsSeq(flags) {
			assert.Contains(t, stdout, "  -"+name+" ")
		}
	}
}

func TestTheCacheTableHasARowForEveryRung(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-workload", "cache",
		"-requests", "40", "-load", "10ms", "-poll", "10ms")
	assert.Equal(t, 0, status, stderr)
	for _, rung := range ladder.Rungs {
		assert.Regexp(t, `(?m)^`+rung.Name+` +1 +40 +0 +100 `, stdout)
	}
	assert.Regexp(t, `(?m)^no-lock +40 `, stdout)
	assert.Contains(t, stdout, "\nmutex-per-service ")
}

func TestTheCacheRowsCarryLoads(t *testing.T) {
	_, stdout, stderr := bench(t.Context(), "-workload", "cache", "-json", "-",
		"-requests", "20", "-load", "10ms", "-rungs", "no-lock,gold")
	var report struct {
		Schema   int
		Workload string
		Rows     []cache.Row
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report), stderr)
	assert.Equal(t, 1, report.Schema)
	assert.Equal(t, "cache", report.Workload)
	require.Len(t, report.Rows, 2)
	assert.Equal(t, 20, report.Rows[0].Loads)
	assert.Equal(t, 1, report.Rows[1].Loads)
	assert.Contains(t, stdout, `"loads": 20`)
}

// importReport is what -json writes.
type importReport struct {
	Env  struct{ Interrupted bool }
	Rows []imports.Row
}

func TestTheImportHasARowForEachNumberOfGroups(t *testing.T) {
	for _, form := range []string{"source", "improved"} {
		_, stdout, stderr := bench(t.Context(), "-workload", "import", "-form",
			form, "-json", "-", "-tasks", "30", "-work", "1ms", "-workers", "3",
			"-groups", "1,4", "-rungs", "gold,reentrant/fenced")
		var report importReport
		require.NoError(t, json.Unmarshal([]byte(stdout), &report), stderr)
		require.Len(t, report.Rows, 4)
		for i, groups := range []int{1, 4, 1, 4} {
			row := report.Rows[i]
			assert.Equal(t, groups, row.Groups)
			assert.Equal(t, 30, row.Done)
			assert.Equal(t, imports.Form(form), row.Form)
			assert.Positive(t, row.TasksPerSecond)
		}
		for _, key := range []string{"done", "lost", "done_twice", "overlapped",
			"out_of_order", "started_again", "tasks_per_second"} {
			assert.Contains(t, stdout, `"`+key+`"`)
		}
	}
}

// redisFor is a server for other processes.
func redisFor(t *testing.T) *miniredis.Miniredis {
	server := miniredis.RunT(t)
	server.ClockTTL(true) // or no lease would ever end
	return server
}

func TestWorkersThatAreProcessesAreKilledAndNothingIsLost(t *testing.T) {
	redis := redisFor(t)
	out, err := process(t, "-workload", "import", "-redis", redis.Addr(), "-rungs",
		"reentrant/fenced", "-workers", "3", "-groups", "4", "-tasks", "60",
		"-work", "2ms", "-kill", "3", "-ttl", "500ms", "-json", "-").Output()
	require.NoError(t, err)
	var report importReport
	require.NoError(t, json.Unmarshal(out, &report))
	require.Len(t, report.Rows, 1)
	row := report.Rows[0]
	assert.True(t, row.Processes)
	assert.Equal(t, 3, row.Killed)
	assert.Equal(t, 3, row.Deaths)
	assert.Equal(t, 60, row.Done)
	assert.Zero(t, row.Lost+row.DoneTwice+row.Overlapped+row.OutOfOrder+
		row.AgainUnforced)
	assert.Empty(t, redis.Keys())
}

// busy starts an import that does not end, and returns when workers are at work.
func busy(t *testing.T, redis *miniredis.Miniredis) (cmd *exec.Cmd,
	stdout, stderr *bytes.Buffer) {
	cmd = process(t, "-workload", "import", "-redis", redis.Addr(), "-rungs",
		"gold", "-workers", "3", "-tasks", "60", "-work", "1h", "-timeout", "1h",
		"-json", "-")
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	working := make(chan struct{})
	onCommand(redis, "HSET", 3, func() { close(working) }) // claims and slots
	require.NoError(t, cmd.Start())
	<-working
	return cmd, stdout, stderr
}

func TestASignalEndsTheWorkersAndPrintsWhatThereIs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends no interrupt to a single process")
	}
	redis := redisFor(t)
	cmd, stdout, stderr := busy(t, redis)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	oneLineOnly(t, stderr.String(), "interrupted in row 1 of 1")
	var report importReport
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report), stdout.String())
	assert.True(t, report.Env.Interrupted)
	require.Len(t, report.Rows, 1)
	assert.False(t, report.Rows[0].Finished)
	assert.Empty(t, redis.Keys())
}

func TestNoWorkerOutlivesAProgramThatIsKilled(t *testing.T) {
	redis := redisFor(t)
	cmd, _, _ := busy(t, redis)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		return redis.CurrentConnectionCount() == 0
	}, time.Minute, 10*time.Millisecond, "the workers are connected")
}

func TestAJobsFileIsReplacedByACompleteReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.json")
	args := []string{"-workload", "cache", "-requests", "8", "-load", "1ms",
		"-rungs", "gold", "-json", path}
	status, stdout, stderr := bench(t.Context(), args...)
	require.Equal(t, 0, status, stderr)
	assert.Contains(t, stdout, "\ngold ")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(before), `"loads": 1`)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	status, _, stderr = bench(ended, args...)
	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "interrupted")
	only(t, path, string(before))
}
