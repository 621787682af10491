package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

// Checks of the commands that measure, whose output differs in every run.

// smaller are the commands whose whole job takes long, with what makes the job smaller.
// The cache's whole job is done behind three of the locks, by another command. A catalog is measured once instead of three times.
var smaller = []struct {
	ends *regexp.Regexp
	more string
}{
	{regexp.MustCompile(` -workload cache$`), " -requests 10000"},
	{regexp.MustCompile(` -workload catalog -redis auto .*-against \S+$`), " -rounds 1"},
}

func checkShape(t *testing.T, c command) {
	line := c.line
	for _, s := range smaller {
		if s.ends.MatchString(line) {
			line += s.more
		}
	}
	output := ends(t, 0, line)
	if c.shown {
		assert.Equal(t, shape(c.output), shape(output))
	}
}

// shortly is a command that measures for minutes, with one round, and with few
// clients where it names no number.
func shortly(line string) string {
	line += " -rounds 1"
	if !strings.Contains(line, "-clients") && !strings.Contains(line, "-rungs") {
		line += " -clients 50"
	}
	return line
}

func checkShortly(t *testing.T, c command) {
	assert.Contains(t, ends(t, 0, shortly(c.line)), "serial")
}

// checkMeasured measures into a file of its own. The command names one that is there.
func checkMeasured(t *testing.T, c command) {
	line, name, _ := strings.Cut(c.line, " -json ")
	in, _, _ := strings.Cut(strings.TrimPrefix(c.line, "cd "), " && ")
	if !strings.HasPrefix(c.line, "cd ") {
		in = "."
	}
	assert.FileExists(t, filepath.Join(here, in, name))
	file := filepath.Join(t.TempDir(), "figures.json")
	c.line = line + " -json '" + file + "'" // the directory is named after the command
	checkShortly(t, c)
	figures, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, json.Valid(figures), "%s", figures)
}

// checkWritten looks for the command that measures the same rows, all of them, and also
// writes what it has measured.
func checkWritten(t *testing.T, c command) {
	assert.True(t, slices.ContainsFunc(shownCommands(t), func(other command) bool {
		more, same := strings.CutPrefix(other.line, c.line)
		return same && inFile.MatchString(more)
	}), "no command is %q with -clients and -json", c.line)
}

var inFile = regexp.MustCompile(`^ -clients \S+ -json \S+$`)

// namesTests is what go test -list prints of a package that has some.
var namesTests = regexp.MustCompile(`(?m)^Test\w+\nok `)

// checkNamed looks whether each package has tests of that name. The step runs them.
func checkNamed(t *testing.T, c command) {
	status, output := typeIn(t, here, strings.Replace(c.line, " -run ", " -list ", 1))
	assert.Zero(t, status, output)
	words := strings.Fields(c.line)
	packages := slices.DeleteFunc(words, func(w string) bool {
		return !strings.HasPrefix(w, "./")
	})
	// Each package's tests come before its line "ok".
	assert.Len(t, namesTests.FindAllString(output, -1), len(packages), output)
}

// checkServer is the reader who has a server, without a password: bench takes
// none.
func checkServer(t *testing.T, c command) {
	server, err := servers.StartOpenRedis(t.Context())
	require.NoError(t, err)
	defer server.Stop()
	c.line = strings.ReplaceAll(c.line, "host:port", server.Addr())
	checkShortly(t, c)
}

// lasts is how long a soak's faults come.
var lasts = regexp.MustCompile(` -for \S+`)

// checkSoak runs a soak for twenty seconds. One of three of a wrong lock finds that, and
// so does the judge of what it has kept.
func checkSoak(t *testing.T, c command) {
	line := lasts.ReplaceAllString(c.line, "") + " -for 20s"
	if !ofWrongLock(c) {
		assert.Contains(t, ends(t, 0, line), "faults: ")
		return
	}
	// In a short one there may be no fault at the moment that matters.
	const most = 3
	for n := 1; ; n++ {
		dir := t.TempDir()
		status, output := typeIn(t, here, line+" -dir '"+dir+"'")
		if status == 0 && n < most {
			t.Logf("soak %d of %d at most: %s", n, most, output)
			continue
		}
		assert.Equal(t, 1, status, output)
		assert.Contains(t, output, "faults: ")
		kept, err := filepath.Glob(filepath.Join(dir, "soak-*"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		judged := ends(t, 1, "cd field && go run ./soak judge '"+kept[0]+"'")
		assert.Contains(t, judged, "faults: ")
		return
	}
}

func ofWrongLock(c command) bool { return strings.Contains(c.line, " -rungs wrong/") }

// checkJudged looks for a soak of which checkSoak lets the judge see what it has kept.
func checkJudged(t *testing.T, _ command) {
	assert.True(t, slices.ContainsFunc(shownCommands(t), ofWrongLock))
}

// checkProgram runs scenarios against a rung that breaks something.
var (
	machine = regexp.MustCompile(`go1\.\S+ \w+/\w+|\d+ CPUs?`)
	figure  = regexp.MustCompile(`\d[\d.,]*(?:e[+-]\d+)?(?:ns|µs|ms|s|m|k)?\b`)
	space   = regexp.MustCompile(`[ \t]+`)
)

// shape is a measured text with its figures masked: they differ in every run,
// and so do the columns that are as wide as they are.
func shape(text string) string {
	text = machine.ReplaceAllString(text, "machine")
	text = figure.ReplaceAllString(text, "#")
	text = regexp.MustCompile(`[-─]{2,}`).ReplaceAllString(text, "--")
	return strings.TrimSpace(space.ReplaceAllString(text, " "))
}

func TestShapeMasksFiguresOnly(t *testing.T) {
	assert.Equal(t, shape("longest  12.5ms\nlease 1s"),
		shape("longest 9.25µs\nlease   30ms"))
	assert.NotEqual(t, shape("longest 12.5ms"), shape("shortest 12.5ms"))
}
