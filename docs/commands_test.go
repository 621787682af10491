package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

var execute = flag.String("commands", "",
	"run the commands that the documents show and that are of these `classes`, such as"+
		" computes,writes,measures; that takes minutes")

// command is something that a document tells its reader to type.
type command struct{ file, line, output string }

// programs begin a command; other code in a line of text is none.
var programs = regexp.MustCompile(`^(\w+=\S+ |taskset -c 0 )*` +
	`(go (run|test|build|mod|vet|version|env|doc) |cd \S+ && |git (diff|checkout|clean) )`)

// shownCommands are the commands of all documents: after "$ " in a console block, with
// what they print, and in indented blocks and in lines of text.
func shownCommands(t *testing.T) (all []command) {
	for _, file := range generated.Documents(root) {
		for _, block := range read(t, file).Blocks() {
			text := strings.ReplaceAll(block.Text, "\\\n", " ")
			switch block.Language {
			case "console":
				for _, typed := range strings.Split("\n"+text, "\n$ ")[1:] {
					line, output, _ := strings.Cut(typed, "\n")
					all = append(all, command{file, line, output})
				}
			case "", "sh":
				for line := range strings.SplitSeq(text, "\n") {
					line, _, _ = strings.Cut(strings.Join(strings.Fields(line), " "), " #")
					line = strings.Replace(line, "go -C field ", "cd field && go ", 1)
					if programs.MatchString(line) {
						all = append(all, command{file, line, ""})
					}
				}
			}
		}
	}
	return all
}

// named is a package's path in a command.
var named = regexp.MustCompile(`(?:^|\s)\./([\w/-]+)`)

func TestEveryPackageThatACommandNamesIsWhereItIsTyped(t *testing.T) {
	all := shownCommands(t)
	assert.Greater(t, len(all), 100, "commands were found")
	for _, c := range all {
		root, line := here, c.line
		if rest, found := strings.CutPrefix(line, "cd "); found {
			folder, typed, _ := strings.Cut(rest, " && ")
			root, line = filepath.Join(here, folder), typed
		}
		_, run, _ := strings.Cut(line, " -run ")
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			dir := filepath.Join(root, match[1])
			assert.DirExists(t, dir, "%s: %s", c.file, c.line)
			if root != here { // where no command is typed that could say so itself
				assert.Regexp(t, `func Test\w*`+run, tests(t, dir), "%s: %s", c.file, c.line)
			}
		}
	}
}

// tests is the text of a package's tests.
func tests(t *testing.T, dir string) (text string) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text += string(content)
	}
	return text
}

// elsewhere are the commands that are typed by steps of .ci/run and .ci/full, that serve
// until they are interrupted, and that name something of the reader's. The second module's
// rows without other languages are among those with them, and the explorer's walks of the
// exercises are tests of theirs: bronze's command stands for all.
var elsewhere = regexp.MustCompile(`^go run \./(docs( -addr \S+)?|bench)$|^go test (-v|\./\.\.\.)$|` +
	`^go test \./scenarios -redis auto$|^cd field && go (test|run \./soak) |` +
	`^cd field && go run \./bench -redis auto( -clients 100 -json \S+)?$|` +
	`exercises/[^b]\w+ .* -run Exercise/explorer |` +
	`^go run \./docs -generate (mysql|zookeeper|etcd|libraries|programs)$|` +
	`explorer standard$|` + // whose table "-generate explorer" makes
	`^LOCKLADDER_REDIS_SERVER=|^go mod edit | -(all|whole)\b|host:port| FILE$| DIR$`)

// The classes of commands.
const (
	computes = "computes" // two at a time, or as many as -parallel says
	writes   = "writes"   // into a copy of the repository, beside one of those
	measures = "measures" // by itself, because it gives up when it takes too long
)

func (c command) class() string {
	switch {
	case regexp.MustCompile(`^go mod |>part|-generate| record |^git (diff --stat|ch|cl)`).
		MatchString(c.line):
		return writes
	case regexp.MustCompile(` \./(bench|scenarios/check)\b| -bench `).
		MatchString(c.line):
		return measures
	}
	return computes
}

// smaller makes the job of a command smaller that would take minutes.
var smaller = []struct {
	line       *regexp.Regexp
	old, other string // an expression, and what takes its place
}{
	{regexp.MustCompile(`/bench .*-redis auto`), `( -rounds \d+)?$`, " -rounds 1"},
	{regexp.MustCompile(`/bench -redis auto( -rounds 1)?$`), `$`, " -clients 50"},
	{regexp.MustCompile(`/bench .*-programs`), `$`, " -clients 50"},
	{regexp.MustCompile(`/catalog .*-benchtime 5x`), `-benchtime 5x`, "-benchtime 1x"},
}

// Every command is typed once, at the root of the module, and what writes into it in a
// copy. It exits as the document shows, and prints what is shown there, but for figures.
// Those that start servers need redis-server, and Linux.
func TestEveryCommandShownRunsAsShown(t *testing.T) {
	if *execute == "" {
		t.Skip("run go test ./docs -commands computes,writes,measures: it types all" +
			" commands of the documents, which takes minutes")
	}
	all := map[string][]command{}
	for _, c := range onceEach(shownCommands(t)) {
		if class := c.class(); slices.Contains(strings.Split(*execute, ","), class) {
			all[class] = append(all[class], c)
		}
	}
	require.NotEmpty(t, all, "-commands %s", *execute)
	for _, c := range all[measures] {
		t.Run(c.line, func(t *testing.T) { c.runsAsShown(t, here) })
	}
	t.Run(writes, func(t *testing.T) {
		t.Parallel()
		repository := copied(t)
		for _, c := range all[writes] {
			t.Run(c.line, func(t *testing.T) {
				c.runsAsShown(t, repository)
				leavesAsItWas(t, repository)
			})
		}
	})
	for _, c := range all[computes] {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			c.runsAsShown(t, here)
		})
	}
}

// onceEach has every command once, where its output is shown if it is anywhere. Those that
// generate are one: whatever part they name, each of them makes all parts that no test
// makes as well.
func onceEach(all []command) (typed []command) {
	generates := command{line: "go run ./docs -generate picture waits"}
	for _, c := range all {
		i := slices.IndexFunc(typed, func(t command) bool { return t.line == c.line })
		_, name, generating := strings.Cut(c.line, " -generate")
		switch {
		case elsewhere.MatchString(c.line):
		case generating && !strings.Contains(generates.line+" ", name+" "):
			generates.line += name
		case generating:
		case i < 0:
			typed = append(typed, c)
		case typed[i].output == "":
			typed[i] = c
		}
	}
	return append(typed, generates)
}

// here is the root of the module.
const here = ".."

func (c command) runsAsShown(t *testing.T, dir string) {
	line := c.line
	for _, s := range smaller {
		if s.line.MatchString(line) {
			line = regexp.MustCompile(s.old).ReplaceAllString(line, s.other)
		}
	}
	line = regexp.MustCompile(`(/bench .*-json) \S+`).ReplaceAllString(line,
		"$1 '"+filepath.Join(t.TempDir(), "figures.json")+"'")
	status, output := typeIn(t, dir, line)
	if !strings.Contains(line, "Exercise/explorer") { // which may find the flaw or not
		assert.Equal(t, c.status(), status, "%s:\n%s", line, output)
	}
	assert.NotContains(t, output, "no tests to run", line)
	if status == 1 {
		// It fails for what it shows, and not because it doesn't compile.
		assert.Regexp(t, ` \^\^\^ |--- FAIL: |(?m)^[-+]|not declared: `+
			`|isn't passed yet`, output)
	}
	if c.output != "" {
		assert.Equal(t, shape(c.output), shape(printed(output)), line)
	}
}

var (
	breaks = regexp.MustCompile(` -red=| -tags exercise|^git diff --no-index|/check .*-- `)
	red    = regexp.MustCompile(`\./(\S+) -red=(\w+)`)
)

// status is what a command exits with. A test of a rung fails with -red if the lock
// breaks the scenario.
func (c command) status() int {
	if match := red.FindStringSubmatch(c.line); match != nil {
		rung, err := ladder.Find(match[1])
		if err == nil && !slices.ContainsFunc(rung.Flaws, func(f lock.Flaw) bool {
			return f.Scenario == match[2]
		}) {
			return 0
		}
	}
	if breaks.MatchString(c.line) {
		return 1
	}
	return 0
}

func typeIn(t *testing.T, dir, line string) (status int, output string) {
	// The longest takes twenty minutes, and .ci/full types it beside other steps.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(cmd.Environ(), "CI_NODE_INDEX=1", "CI_NODE_TOTAL=8", "JOB_COMPLETION_INDEX=0")
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err, line)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// framing is what go test adds to what a test prints.
var framing = regexp.MustCompile(`(?m)^(=== |\s*--- |FAIL|PASS|ok |exit status ).*\n|` +
	`^ {8}\w+\.go:\d+: |^ {12}`)

func printed(output string) string { return framing.ReplaceAllString(output, "") }

var (
	figure = regexp.MustCompile(`go1\.\S+ \w+/\w+|` +
		`\d[\d.,]*(?:e[+-]\d+)?(?:ns|µs|ms|s|m|k| CPUs?)?\b|[-─]{2,}`)
	space = regexp.MustCompile(`[ \t]+`)
)

// shape is a text with its figures masked: they differ in every run, and so do the
// columns that are as wide as they are.
func shape(text string) string {
	text = space.ReplaceAllString(figure.ReplaceAllString(text, "#"), " ")
	return strings.TrimSpace(strings.ReplaceAll(text, " \n", "\n"))
}

// copied is a repository of its own with the files of this one.
func copied(t *testing.T) (dir string) {
	dir = t.TempDir()
	status, output := typeIn(t, here, "git ls-files -z --cached --others --exclude-standard |"+
		" xargs -0 cp --parents --target-directory '"+dir+"' && cd '"+dir+"' && git init -q ."+
		" && git add . && git -c user.name=x -c user.email=x commit -qm copied")
	require.Zero(t, status, output)
	return dir
}

// leaves are the directories into which commands write what was not there.
var leaves = regexp.MustCompile(`(?m)^\?\? (graphs/|vendor/|part.json)\n`)

// leavesAsItWas says that a command has written only what is there already, and brings
// that back for the next command.
func leavesAsItWas(t *testing.T, repository string) {
	_, changed := typeIn(t, repository, "git status --porcelain && git diff | head -50")
	assert.Empty(t, leaves.ReplaceAllString(changed, ""))
	status, output := typeIn(t, repository, "git checkout -q . && git clean -fdq")
	require.Zero(t, status, output)
}
