package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
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
	"github.com/lockladder/lockladder/internal/site/parts"
	"github.com/lockladder/lockladder/lock"
)

var execute = flag.String("commands", "",
	"run the commands that the documents show and that are of these `lanes`, such as"+
		" computes,writes,measures; that takes minutes")

// command is something that a document tells its reader to type.
type command struct {
	file   string
	line   string
	shown  bool   // the document shows what it prints
	output string // what it shows
	copy   string // of the repository, where it may write
}

// programs begin a command; other code in a line of text is none.
var programs = regexp.MustCompile(`^(\w+=\S+ )*` +
	`(go (run|test|build|mod|vet|version|env)\b|cd |git |curl |redis-cli |apt|npm |taskset )`)

// kept are commands in prose that are only named, not shown to be typed.
var kept = []string{"go test", "go run", "go test -v"}

// shownCommands are the commands of all documents: after "$ " in a console
// block, and in indented blocks and in lines of text.
func shownCommands(t *testing.T) []command {
	var all []command
	for _, file := range parts.Documents(root) {
		for _, block := range read(t, file).Blocks() {
			text := strings.TrimRight(block.Text, "\n")
			switch {
			case block.Inline:
				if programs.MatchString(text) && !slices.Contains(kept, text) {
					all = append(all, command{file: file, line: text})
				}
			case block.Language == "console":
				all = append(all, session(file, text)...)
			case block.Language == "" || block.Language == "sh":
				joined := strings.ReplaceAll(text, "\\\n", " ")
				for line := range strings.SplitSeq(joined, "\n") {
					line = space.ReplaceAllString(line, " ")
					line, _, _ = strings.Cut(line, " #")
					line = strings.TrimSpace(line)
					if programs.MatchString(line) {
						all = append(all, command{file: file, line: line})
					}
				}
			}
		}
	}
	return all
}

// session splits a console block into its commands, each with its output.
func session(file, text string) []command {
	var all []command
	for line := range strings.SplitSeq(text, "\n") {
		if typed, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, command{file: file, line: typed})
			continue
		}
		if len(all) > 0 {
			last := &all[len(all)-1]
			last.shown = true
			last.output += line + "\n"
		}
	}
	return all
}

// kind is how a command is held against what the document says of it. Without a
// check it is typed elsewhere.
type kind struct {
	name    string
	matches *regexp.Regexp
	check   func(*testing.T, command)
	lane    lane
}

// lane has the commands that are typed in the same way.
type lane string

const (
	computes lane = "computes" // two at a time, or as many as -parallel says
	writes   lane = "writes"   // into a copy of the repository, beside one of those
	measures lane = "measures" // by itself, because it gives up when it takes too long
)

// kinds are tried in order.
var kinds = []kind{
	{"a step of .ci/run or .ci/full", regexp.MustCompile(`^(` +
		`go run \./(docs|bench)|go test \./(\.\.\.|scenarios -redis auto)|` +
		`GOPROXY=off go vet \./\.\.\.|` +
		// These steps run the tests that such a command runs, and they compare.
		`go run \./docs -generate (mysql|zookeeper|etcd|libraries|programs)|` +
		`cd field && go test \./(\.\.\.|mysql|zookeeper|etcd|` +
		`(libraries|programs) -redis auto))$`), nil, ""},
	{"a test of a store that a step of .ci/full runs", regexp.MustCompile(
		`^cd field && go test (-count=1 )?\./\w+( \./\w+)* -run \w+$`),
		checkNamed, computes},
	{"checks what another command generates", regexp.MustCompile(
		`^go test \S+( -run \S+)?( -timeout \S+)? -(three|whole)( -v)?$`),
		checkGenerated, computes},
	{"measures into a file", regexp.MustCompile(
		`^(cd field && )?(taskset -c 0 )?go run \./bench .*-json \S+$`), checkMeasured, measures},
	{"measures what another command writes into a file", regexp.MustCompile(
		`^(cd field && )?(taskset -c 0 )?go run \./bench -redis auto$`),
		checkWritten, measures},
	{"measures other languages", regexp.MustCompile(
		`^cd field && (taskset -c 0 )?go run \./bench .*-programs`), checkShortly, measures},
	{"writes", regexp.MustCompile(`^(go mod vendor|go run \./docs -generate( \S+)*|` +
		`go test .*-graph .*)$`), checkWriter, writes},
	{"walks for minutes", regexp.MustCompile(`^go test .* -sound( -v)?$`),
		checkPasses, computes},
	{"prepares a room", regexp.MustCompile(
		`^go (mod download|version|env GOMODCACHE)$`),
		checkPasses, computes},
	{"needs a server of the reader", regexp.MustCompile(
		`^(taskset -c 0 )?go run \./bench.* -redis host:port$`), checkServer, measures},
	{"lets a failing assertion through", regexp.MustCompile(
		`^go test \./\S+ -red=\w+( -run \w+)?$`), checkRed, computes},
	{"an exercise before it is solved", regexp.MustCompile(
		`^go test \./docs/exercises/\d\d -tags exercise( -run \S+)?$`),
		checkExercise, computes},
	{"lets the explorer see an exercise", regexp.MustCompile(
		`^go test \./docs/exercises/\d\d -tags exercise -run Exercise/explorer -v$`),
		checkExplorer, computes},
	{"a benchmark of Go's", regexp.MustCompile(`^go test .* -bench `), checkPasses,
		measures},
	{"a test that passes", regexp.MustCompile(`^go test `), checkPasses, computes},
	{"two files that differ", regexp.MustCompile(`^git diff --no-`), checkDiff, computes},
	{"measures for minutes", regexp.MustCompile(
		`^(cd field && )?(taskset -c 0 )?go run \./bench -redis auto`), checkShortly, measures},
	{"measures", regexp.MustCompile(`^(taskset -c 0 )?go run \./bench`), checkShape, measures},
	{"judges what a soak has kept", regexp.MustCompile(
		`^cd field && go run \./soak judge DIR$`), checkJudged, measures},
	{"soaks for minutes", regexp.MustCompile(`^cd field && go run \./soak `),
		checkSoak, measures},
	{"checks a program", regexp.MustCompile(`^go run \./scenarios/check `),
		checkProgram, measures},
	{"opens a file of the reader", regexp.MustCompile(`^go run \./docs -open FILE$`),
		checkOpens, computes},
	{"resets an exercise", regexp.MustCompile(
		`^git (diff --stat|checkout --|clean -fd) docs/exercises/\d\d$`), checkReset, computes},
	{"explores", regexp.MustCompile(`^go run \./scenarios/explore`), checkShape, computes},
}

func kindOf(c command) *kind {
	for i := range kinds {
		if kinds[i].matches.MatchString(c.line) {
			return &kinds[i]
		}
	}
	return nil
}

// A new kind of command in a document needs an entry in kinds.
func TestEveryCommandShownIsOfAKindThatIsChecked(t *testing.T) {
	all := shownCommands(t)
	for _, c := range all {
		if kindOf(c) == nil {
			t.Errorf("%s: it is not known how to check %q", c.file, c.line)
		}
	}
	assert.Greater(t, len(all), 20, "commands were found")
}

// Every command is typed once, at the root of the module, and what writes into
// it in a copy. Those that start servers need redis-server, and Linux.
func TestEveryCommandShownRunsAsShown(t *testing.T) {
	if *execute == "" {
		t.Skip("run go test ./docs -commands computes,writes,measures: it types all" +
			" commands of the documents, which takes minutes")
	}
	known := map[lane][]command{}
	all := shownCommands(t)
	for i, c := range all {
		k := kindOf(c)
		if k != nil && k.check != nil && !typedToo(c, all[:i], all[i+1:]) {
			known[k.lane] = append(known[k.lane], c)
		}
	}
	asked := map[lane][]command{}
	for name := range strings.SplitSeq(*execute, ",") {
		asked[lane(name)] = known[lane(name)]
		require.NotEmpty(t, asked[lane(name)], "no command is of the lane %q", name)
	}
	for _, c := range asked[measures] {
		t.Run(c.line, func(t *testing.T) { kindOf(c).check(t, c) })
	}
	t.Run("writes", func(t *testing.T) {
		t.Parallel()
		repository := copied(t)
		for _, c := range generatedAtOnce(asked[writes]) {
			c.copy = repository
			t.Run(c.line, func(t *testing.T) { kindOf(c).check(t, c) })
		}
	})
	for _, c := range asked[computes] {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			kindOf(c).check(t, c)
		})
	}
}

var generates = regexp.MustCompile(`^go run \./docs -generate( \S+)?$`)

// generatedAtOnce makes one command, the last, of all that generate: whatever part they
// name, each of them makes all parts that no test makes as well.
func generatedAtOnce(all []command) (typed []command) {
	names, some := "", false
	for _, c := range all {
		if is := generates.FindStringSubmatch(c.line); is != nil {
			names, some = names+is[1], true
		} else {
			typed = append(typed, c)
		}
	}
	if some {
		typed = append(typed, command{line: "go run ./docs -generate" + names})
	}
	return typed
}

func TestWhatGeneratesIsTypedAtOnce(t *testing.T) {
	plain, part := command{line: "go run ./docs -generate"},
		command{line: "go run ./docs -generate waits"}
	vendor, other := command{line: "go mod vendor"},
		command{line: "go run ./docs -generate costs"}
	assert.Equal(t, []command{vendor, {line: "go run ./docs -generate waits costs"}},
		generatedAtOnce([]command{plain, part, vendor, other}))
	assert.Equal(t, []command{vendor}, generatedAtOnce([]command{vendor}))
	assert.Empty(t, generatedAtOnce(nil))
}

// typedToo says whether another command is typed and is held against all that this
// one is: the same, or the same with -v, which only prints more.
func typedToo(c command, before, after []command) bool {
	printsMore := func(other command) bool {
		return !c.shown && other.line == c.line+" -v"
	}
	return slices.ContainsFunc(before, func(other command) bool {
		return other.line == c.line && (!c.shown || other.shown) || printsMore(other)
	}) || slices.ContainsFunc(after, func(other command) bool {
		return other.line == c.line && !c.shown && other.shown || printsMore(other)
	})
}

func TestACommandIsTypedOnceAndAsItShowsMost(t *testing.T) {
	plain, shown := command{line: "go test ./x"}, command{line: "go test ./x", shown: true}
	verbose, other := command{line: "go test ./x -v"}, command{line: "go test ./y"}
	all := []command{plain, other, plain, shown, verbose, shown, verbose}
	var typed []command
	for i, c := range all {
		if !typedToo(c, all[:i], all[i+1:]) {
			typed = append(typed, c)
		}
	}
	assert.Equal(t, []command{other, shown, verbose}, typed)
}

// here is the root of the module.
const here = ".."

func typeIn(t *testing.T, dir, line string) (status int, output string) {
	// The longest takes ten minutes, and .ci/full types it beside other steps.
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err, line)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

var (
	framing  = regexp.MustCompile(`^(=== |\s*--- |FAIL|PASS|ok |exit status )`)
	logged   = regexp.MustCompile(`^ {8}\w+\.go:\d+: `)
	indented = regexp.MustCompile(`^ {12}`)
)

// printed is what a test prints, without what go test adds.
func printed(output string) string {
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		if framing.MatchString(line) {
			continue
		}
		line = logged.ReplaceAllString(line, "")
		line = indented.ReplaceAllString(line, "")
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// ends types a line, which must end with that status, and returns what it prints.
func ends(t *testing.T, status int, line string) (output string) {
	t.Helper()
	got, output := typeIn(t, here, line)
	assert.Equal(t, status, got, "%s:\n%s", line, output)
	return output
}

// isShown says that a test prints what the document shows, if it shows anything.
func isShown(t *testing.T, c command, output string) {
	t.Helper()
	if c.shown {
		assert.Equal(t, strings.TrimSpace(c.output), printed(output))
	}
}

// checkRed types a command that fails if the lock breaks the scenario, and passes if not.
func checkRed(t *testing.T, c command) {
	name := red.FindStringSubmatch(c.line)
	rung, err := ladder.Find(name[1])
	if err == nil && !slices.ContainsFunc(rung.Flaws, func(f lock.Flaw) bool {
		return f.Scenario == name[2]
	}) {
		checkPasses(t, c)
		return
	}
	output := ends(t, 1, c.line)
	assert.Contains(t, output, " ^^^ ")
	isShown(t, c, output)
}

// checkOpens has no such file; testdata/scripts/open.txtar has one.
func checkOpens(t *testing.T, c command) {
	assert.Contains(t, ends(t, 1, c.line), "docs: -open FILE: no such file")
}

func checkExercise(t *testing.T, c command) {
	output := ends(t, 1, c.line)
	assert.Contains(t, output, "--- FAIL: TestExercise", "it compiles")
	isShown(t, c, output)
}

// checkExplorer asks for the explorer's report, whatever is in it.
func checkExplorer(t *testing.T, c command) {
	_, output := typeIn(t, here, c.line)
	assert.Regexp(t, "--- (PASS|FAIL): TestExercise/explorer ", output)
	assert.Regexp(t, "holds: exhausted|breaks: adversary|the same thing twice",
		output)
}

// red is a lock, and the scenario that a command asks for by its name.
var red = regexp.MustCompile(`\./(\S+) .*(?:-run \S*/|-red=)(\w+)`)

func checkPasses(t *testing.T, c command) {
	line, asked := c.line, red.FindStringSubmatch(c.line)
	if asked != nil && !c.shown {
		line += " -v"
	}
	output := ends(t, 0, line)
	if asked != nil && !c.shown { // a scenario that does not exist passes, too
		assert.Regexp(t, "--- PASS: .*/"+asked[2]+" ", output)
	}
	isShown(t, c, output)
}

func checkDiff(t *testing.T, c command) {
	output := ends(t, 1, c.line)
	assert.Regexp(t, "(?m)^[-+]", output)
}

func checkProgram(t *testing.T, c command) {
	assert.Contains(t, ends(t, 1, c.line), "not declared: ")
}

// checkReset changes an exercise in a repository of its own, and adds a file to it. The
// command shows that, brings the start back, or removes the file.
func checkReset(t *testing.T, c command) {
	words := strings.Fields(c.line)
	directory := words[len(words)-1]
	start, err := os.ReadFile(filepath.Join(here, directory, "lock.go"))
	require.NoError(t, err)
	repository := t.TempDir()
	file := filepath.Join(repository, directory, "lock.go")
	added := filepath.Join(repository, directory, "acquire.lua")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, start, 0o600))
	status, output := typeIn(t, repository, "git init -q . && git add . && git"+
		" -c user.name=x -c user.email=x commit -qm start && echo >> "+directory+
		"/lock.go")
	require.Zero(t, status, output)
	require.NoError(t, os.WriteFile(added, nil, 0o600))
	status, output = typeIn(t, repository, c.line)
	assert.Zero(t, status, output)
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	if words[1] == "diff" {
		assert.Contains(t, output, "1 file changed")
		return
	}
	if words[1] == "clean" {
		assert.NoFileExists(t, added)
		return
	}
	assert.Equal(t, string(start), string(now))
}

// checkGenerated looks for the command that generates what this one checks: it
// runs the same tests, and what they make is compared with what is here.
func checkGenerated(t *testing.T, c command) {
	assert.True(t, slices.ContainsFunc(generated.Tests, func(test generated.Test) bool {
		return test.Command() == strings.TrimSuffix(c.line, " -v")
	}), "generated.Tests has no %q", c.line)
}

// notCopied are git's directory and those into which other languages' tools install.
var notCopied = []string{".git", ".venv", "node_modules", "target", "__pycache__"}

// copied is a copy of the repository, for commands that write into it.
func copied(t *testing.T) (dir string) {
	dir = t.TempDir()
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry,
		err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notCopied, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), content, 0o644)
	}))
	return dir
}

// filesBelow are the files below dir, by name.
func filesBelow(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	root := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry,
		err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		all[name] = string(content)
		return err
	}))
	return all
}

// leaves are the commands that leave files which were not there, and which files.
var leaves = []struct{ line, files *regexp.Regexp }{
	{line: regexp.MustCompile(` -graph "\$PWD/graphs"`),
		files: regexp.MustCompile(`^graphs/[\w-]+\.json$`)},
	{line: regexp.MustCompile(`^go mod vendor$`),
		files: regexp.MustCompile(`^vendor/`)},
}

// checkWriter types a command that writes into the repository. The command may
// write only the contents that are there already, and the files in leaves. The next
// command finds the repository as it was.
func checkWriter(t *testing.T, c command) {
	before := filesBelow(t, c.copy)
	status, output := typeIn(t, c.copy, c.line)
	assert.Equal(t, 0, status, "%s:\n%s", c.line, output)
	var may *regexp.Regexp
	for _, l := range leaves {
		if l.line.MatchString(c.line) {
			may = l.files
		}
	}
	left := 0
	after := filesBelow(t, c.copy)
	for name, content := range after {
		old, was := before[name]
		switch {
		case was && old == content:
		case was:
			t.Errorf("%s wrote something else into %s:\n%s", c.line, name,
				firstDifference(old, content))
			require.NoError(t, os.WriteFile(filepath.Join(c.copy, name),
				[]byte(old), 0o644))
		case may != nil && may.MatchString(name):
			left++
			// Of a vendor directory not even the name may stay: the next command
			// would be built from it.
			name, _, _ = strings.Cut(name, "/")
			require.NoError(t, os.RemoveAll(filepath.Join(c.copy, name)))
		default:
			t.Errorf("%s left %s", c.line, name)
			require.NoError(t, os.RemoveAll(filepath.Join(c.copy, name)))
		}
	}
	for name := range before {
		assert.Contains(t, after, name, "%s removed it", c.line)
	}
	if may != nil {
		assert.NotZero(t, left, "%s wrote nothing", c.line)
	}
}
