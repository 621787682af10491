package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locksbefore "github.com/lockladder/lockladder/docs/before"
	"github.com/lockladder/lockladder/internal/exercise"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/pages"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// exhibit is a broken story of a lock that a page can show.
type exhibit struct {
	name    string // "gold/overrun_release"
	command string // what lets its assertion through
	result  scenarios.Result
}

// exhibitsOf are the flaws of all rungs, as they were just told.
func exhibitsOf(t *testing.T, reports []scenarios.Report) []exhibit {
	var all []exhibit
	for i, rung := range ladder.Rungs {
		tests, err := sourceOf(rung.Name + "/lock_test.go")
		require.NoError(t, err)
		run := "/"
		if strings.Count(tests, "\nfunc Test") > 1 {
			run = "Scenarios$/" // the other ones tell of another lock
		}
		all = append(all, flawsOf(rung.Name, fmt.Sprintf(
			"go test ./%s -red -run %s", rung.Name, run), reports[i])...)
	}
	return all
}

// before tells of the locks of page 00.
func before(t *testing.T) []exhibit {
	var all []exhibit
	for _, l := range []struct {
		name, test string
		build      lock.Build
	}{
		{"mutex", "Mutex", locksbefore.Services()},
		{"variable", "Variable", locksbefore.BuildVariable},
	} {
		t.Run(l.name, func(t *testing.T) {
			exercise.Only(t, "mutual_exclusion")
			report := scenarios.Run(t, l.build, scenarios.Flaws(
				lock.Flaws("mutual_exclusion: two holders")...))
			all = append(all, flawsOf(l.name, fmt.Sprintf(
				"go test ./docs/before -red -run %s/", l.test), report)...)
		})
	}
	return all
}

func flawsOf(name, command string, report scenarios.Report) []exhibit {
	var all []exhibit
	for _, r := range report {
		if r.Verdict == scenarios.Breaks {
			all = append(all, exhibit{name + "/" + r.Scenario,
				command + r.Scenario, r})
		}
	}
	return all
}

// find returns what a story breaks. After ": " the name may say which
// invariant is meant: "reentrant/fenced/failover: stale write".
func find(exhibits []exhibit, name string) ([]exhibit, error) {
	story, invariant, one := strings.Cut(name, ": ")
	var found []exhibit
	for _, e := range exhibits {
		if e.name == story && (!one || e.result.Invariant == invariant) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no flaw is called %q", name)
	}
	return found, nil
}

// assertions are the failed assertions of a story as they are printed, without
// the lines of go test around them.
func assertions(exhibits []exhibit, name string) (string, error) {
	found, err := find(exhibits, name)
	var texts []string
	for _, e := range found {
		texts = append(texts, strings.TrimSpace(e.result.Assertion))
	}
	return strings.Join(texts, "\n\n") + "\n", err
}

// made makes one generated part. The first word of its name says what it is:
//
//	place gold                      where the rung stands, and its neighbours
//	code gold/lock.go Lock.TryLock  declarations of a file
//	file diamond/release.lua        a whole file
//	output x_test.go Clerks         what an example prints
//	diff gold                       what the rung changes, beside its parent
//	red gold/overrun_release        a command, and the assertion it lets through
//	sequence gold/overrun_release   the same story as a diagram
//	exercises                       a table of them
//	exercise 03                     what an exercise is about
//	contents                        a table of the rungs' pages
//	writers                         a table of the commands that write parts
func made(exhibits []exhibit, part string) (string, error) {
	words := strings.Fields(part)
	if len(words) == 0 {
		return "", errUnknown
	}
	arguments := words[1:]
	switch what := words[0]; {
	case what == "place" && len(arguments) == 1:
		return place(arguments[0])
	case what == "code" && len(arguments) > 1:
		source, err := sourceOf(arguments[0])
		if err != nil {
			return "", err
		}
		text, err := pages.Extract(source, arguments[1:]...)
		return pages.Fence("go", text), err
	case what == "file" && len(arguments) == 1:
		source, err := sourceOf(arguments[0])
		return pages.Fence(strings.TrimPrefix(path.Ext(arguments[0]), "."),
			source), err
	case what == "output" && len(arguments) == 2:
		source, err := sourceOf(arguments[0])
		if err != nil {
			return "", err
		}
		text, err := pages.Output(source, arguments[1])
		return pages.Fence("", text), err
	case what == "diff" && len(arguments) == 1:
		return diff(arguments[0])
	case what == "red" && len(arguments) == 1:
		found, err := find(exhibits, arguments[0])
		if err != nil {
			return "", err
		}
		text, err := assertions(exhibits, arguments[0])
		return pages.Fence("console", "$ "+found[0].command+"\n"+text), err
	case what == "sequence":
		found, err := find(exhibits, strings.Join(arguments, " "))
		if err != nil {
			return "", err
		}
		text, err := pages.Sequence(found[0].result)
		return pages.Fence("mermaid", text), err
	case what == "exercises" && len(arguments) == 0:
		return exercises(), nil
	case what == "exercise" && len(arguments) == 1:
		return oneExercise(arguments[0])
	case what == "contents" && len(arguments) == 0:
		return contents(), nil
	case what == "writers" && len(arguments) == 0:
		return writers(), nil
	}
	return "", errUnknown
}

// sourceOf reads a file of the module.
func sourceOf(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}

// pageOf names the page of the i-th rung.
func pageOf(i int) string {
	return fmt.Sprintf("%02d-%s.md", i+1, path.Base(ladder.Rungs[i].Name))
}

func indexOf(name string) int {
	return slices.IndexFunc(ladder.Rungs, func(r ladder.Rung) bool {
		return r.Name == name
	})
}

// place says where a rung stands.
func place(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	i := indexOf(name)
	var b strings.Builder
	fmt.Fprintf(&b, "*Rung %d of %d: %s.*", i+1, len(ladder.Rungs), rung.Idea)
	if parent := indexOf(rung.Parent); parent >= 0 {
		fmt.Fprintf(&b, " Read it beside [%s](%s).", rung.Parent,
			pageOf(parent))
	}
	fmt.Fprintf(&b, "\nThe code: [%s](../%s/lock.go).", name, name)
	fmt.Fprintf(&b, " Climb it yourself: [exercise %02d](exercises/%02d/README.md)."+
		"\n\n", i+1, i+1)
	if i == 0 {
		fmt.Fprint(&b, "← [00](00-before.md)")
	} else {
		fmt.Fprintf(&b, "← [%s](%s)", ladder.Rungs[i-1].Name, pageOf(i-1))
	}
	if i+1 < len(ladder.Rungs) {
		fmt.Fprintf(&b, " · [%s](%s) →", ladder.Rungs[i+1].Name, pageOf(i+1))
		return b.String() + "\n", nil
	}
	next, err := nextOf("docs/" + pageOf(i))
	if err != nil {
		return "", err
	}
	source, err := sourceOf(next)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(next, "docs/")
	if !ok {
		return "", fmt.Errorf("%s is not beside %s", next, pageOf(i))
	}
	fmt.Fprintf(&b, " · [%s](%s) →", pages.Parse(source).Title(), to)
	return b.String() + "\n", nil
}

// nextOf is the document to which the site's key for the next one leads.
func nextOf(file string) (string, error) {
	order := pages.NewSite(os.DirFS("..")).Order()
	i := slices.Index(order, file)
	if i < 0 || i+1 == len(order) {
		return "", fmt.Errorf("nothing is read after %s", file)
	}
	return order[i+1], nil
}

// diff is what a rung changes.
func diff(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	was, err := sourceOf(rung.Parent + "/lock.go")
	if err != nil {
		return "", err
	}
	is, err := sourceOf(rung.Name + "/lock.go")
	if err != nil {
		return "", err
	}
	text, err := pages.Diff(was, is, rung.Changes...)
	if err != nil {
		return "", err
	}
	return pages.Fence(fmt.Sprintf("diff %s/lock.go %s/lock.go", rung.Parent,
		rung.Name), text), nil
}

// exercises is a table of all of them.
func exercises() string {
	var b strings.Builder
	fmt.Fprint(&b, "| exercise | the flaw | what to do |\n|---|---|---|\n")
	for _, e := range exercise.All {
		fmt.Fprintf(&b, "| [%s %s](%s/README.md) | %s | %s |\n", e.Number,
			path.Base(e.Rung), e.Number, e.Flaw, e.Task)
	}
	return b.String()
}

// oneExercise says what an exercise is about.
func oneExercise(number string) (string, error) {
	e, err := exercise.Find(number)
	if err != nil {
		return "", err
	}
	stories := "`" + strings.Join(e.Stories, "`, `") + "`"
	if e.Check != nil {
		stories += ", and a check of its own"
	}
	var files []string
	for _, file := range e.Files {
		files = append(files, fmt.Sprintf("[%s](%s)", file, file))
	}
	return fmt.Sprintf("- The flaw: *%s*.\n- The task: %s.\n- The files that the"+
		" solution changes: %s.\n- The stories: %s.\n\n```console\n"+
		"$ go test ./docs/exercises/%s -tags exercise\n```\n", e.Flaw, e.Task,
		strings.Join(files, ", "), stories, e.Number), nil
}

// contents is a table of the rungs' pages.
func contents() string {
	var b strings.Builder
	fmt.Fprint(&b, "| page | the idea | its exercise |\n|---|---|---|\n")
	for i, rung := range ladder.Rungs {
		fmt.Fprintf(&b, "| [%02d %s](%s) | %s | [%02d](exercises/%02d/README.md)"+
			" |\n", i+1, rung.Name, pageOf(i), rung.Idea, i+1, i+1)
	}
	return b.String()
}

// owner is a command that writes parts of a document anew.
type owner struct {
	page    string
	parts   []string // their names, or what stands before the last word
	command string
}

// owners write the parts that are not made here, and those of choosing.md, which
// has a test of its own.
var owners = []owner{
	{"alternatives.md", []string{"mysql"},
		"cd alternatives && go test ./mysql -update"},
	{"alternatives.md", []string{"zookeeper"},
		"cd alternatives && go test ./zookeeper -update"},
	{"alternatives.md", []string{"etcd"},
		"cd alternatives && go test ./etcd -update"},
	{"benchmark.md", []string{"growth", "costs of"},
		"go test ./internal/benchmark/costs -update"},
	{"cache.md", []string{"mutex", "locks"},
		"go test ./internal/jobs/cache -update"},
	{"choosing.md", []string{"choices", "needs", "run", "costs",
		"without"},
		"go test ./docs -run Decision -update"},
	{"explorer.md", []string{"report", "timeline", "verdicts", "rows", "share",
		"own", "mutants",
		"waits", "waiting mutants"}, "go test ./scenarios/explore -all -update"},
	{"explorer.md", []string{"three"},
		"go test ./scenarios/explore -run Three -three -update"},
	{"import.md", []string{"source", "scan", "improved", "throughput"},
		"go test ./internal/jobs/imports -update"},
	{"libraries.md", []string{"versions", "matrix"},
		"cd alternatives && go test ./libraries -update"},
	{"polling.md", []string{"curve", "lockstep", "pool", "loop"},
		"go test ./internal/benchmark/costs -update"},
	{"scheduled.md", []string{"rungs"},
		"go test ./internal/jobs/schedule -update"},
}

// writers is a table of who writes which parts.
func writers() string {
	var b strings.Builder
	fmt.Fprint(&b, "| page | its generated parts | are written by |\n"+
		"|---|---|---|\n| all that are not named below | all |"+
		" `go test ./docs -update` |\n")
	for _, o := range owners {
		fmt.Fprintf(&b, "| [%s](%s) | %s | `%s` |\n",
			strings.TrimSuffix(o.page, ".md"), o.page,
			strings.Join(o.parts, ", "), o.command)
	}
	return b.String()
}

// written are the documents whose parts are made here, beside the numbered pages
// and the exercises. The owners write the parts of the others.
var written = []string{"README.md", "glossary.md", "sources.md",
	"transactions.md", "ttl.md", "workshop.md"}

var numbered = regexp.MustCompile(`^\d\d-`)

// ours are the documents whose parts are made here.
func ours(t *testing.T) []string {
	var files []string
	for _, file := range documents(t) {
		if slices.Contains(written, file) || numbered.MatchString(file) ||
			strings.HasPrefix(file, "exercises") {
			files = append(files, file)
		}
	}
	return files
}

// documents are the README, all pages and all exercises.
func documents(t *testing.T) []string {
	files := []string{filepath.Join("..", "README.md")}
	for _, pattern := range []string{"*.md", "exercises/*.md",
		"exercises/*/*.md"} {
		found, err := filepath.Glob(filepath.FromSlash(pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

var answer = regexp.MustCompile(`(?s)<details>\n<summary>[^\n]+</summary>\n\n` +
	`.+?\n\n</details>`)

// A rung without a page, or with half of one, is not taught.
func TestEveryRungHasAPage(t *testing.T) {
	for i, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			content, err := os.ReadFile(pageOf(i))
			if err != nil {
				t.Fatalf("rung %d, %s, has no page docs/%s", i+1, rung.Name,
					pageOf(i))
			}
			page := string(content)
			headings := []string{"## The story", "## The code",
				"## See it fail", "## What the next rung changes",
				"## Three questions"}
			if rung.Parent != "" {
				headings = slices.Insert(headings, 2, "## Beside "+rung.Parent)
			}
			require.Equal(t, headings, regexp.MustCompile(`(?m)^## .+`).
				FindAllString(page, -1))
			_, questions, _ := strings.Cut(page, "## Three questions")
			require.Len(t, answer.FindAllString(questions, -1), 3,
				"questions with folded answers")
			parts, err := pages.Parts(page)
			require.NoError(t, err)
			wanted := []string{"place " + rung.Name,
				"code " + rung.Name + "/lock.go", "red " + rung.Name + "/",
				"sequence " + rung.Name + "/"}
			if rung.Parent != "" {
				wanted = append(wanted, "diff "+rung.Name)
			}
			source, err := sourceOf(rung.Name + "/doc.go")
			require.NoError(t, err)
			_, story, _ := strings.Cut(source, "-red -run /")
			story, _, _ = strings.Cut(story, "\n")
			wanted = append(wanted, "red "+rung.Name+"/"+story)
			for _, part := range wanted {
				require.True(t, slices.ContainsFunc(parts, func(p string) bool {
					return strings.HasPrefix(p, part)
				}), "the page has no generated part %q", part)
			}
		})
	}
}

// Who teaches is told when each page and each exercise has its turn, or that it is
// for afterwards.
func TestTheWorkshopHasAPlaceForEveryPageAndExercise(t *testing.T) {
	links := read(t, "workshop.md").Links()
	for i, rung := range ladder.Rungs {
		require.Contains(t, links, pageOf(i), rung.Name)
		require.Contains(t, links, fmt.Sprintf("exercises/%02d/README.md", i+1),
			rung.Name)
	}
}

// A generated part that nobody writes goes stale without a word. What is made
// here is refused when nobody knows how; of the others the owner has to name it
// in its sources.
func TestEveryGeneratedPartHasAnOwner(t *testing.T) {
	here := append(ours(t), filepath.Join("..", "README.md"), "matrix.md")
	owned := 0
	for _, file := range documents(t) {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		parts, err := pages.Parts(strings.ReplaceAll(string(content), "\r\n",
			"\n"))
		require.NoError(t, err, file)
		for _, part := range parts {
			var commands []string
			if slices.Contains(here, file) {
				commands = append(commands, "go test ./docs -update")
			}
			for _, o := range owners {
				if o.page == file && o.has(part) {
					commands = append(commands, o.command)
				}
			}
			assert.Len(t, commands, 1, "who writes the part %q of %s?", part,
				file)
			owned++
		}
	}
	assert.Greater(t, owned, 100, "parts were found")
	for _, o := range owners {
		content, err := os.ReadFile(o.page)
		require.NoError(t, err)
		parts, err := pages.Parts(strings.ReplaceAll(string(content), "\r\n",
			"\n"))
		require.NoError(t, err, o.page)
		source := o.source(t)
		for _, name := range o.parts {
			only := owner{parts: []string{name}}
			assert.True(t, slices.ContainsFunc(parts, only.has),
				"%s has no part %q", o.page, name)
			assert.True(t, strings.Contains(source, `"`+name),
				"what %q tests does not write %q", o.command, name)
		}
	}
}

func (o owner) has(part string) bool {
	return slices.ContainsFunc(o.parts, func(name string) bool {
		return part == name || strings.HasPrefix(part, name+" ") ||
			strings.HasPrefix(part, name+", ")
	})
}

var tested = regexp.MustCompile(`^(?:cd (\w+) && )?go test \./(\S+) .*-update$`)

// source is the Go code of the package that an owner tests, without this file.
func (o owner) source(t *testing.T) string {
	t.Helper()
	found := tested.FindStringSubmatch(o.command)
	require.NotNil(t, found, o.command)
	files, err := filepath.Glob(filepath.Join("..", found[1],
		filepath.FromSlash(found[2]), "*.go"))
	require.NoError(t, err)
	var b strings.Builder
	for _, file := range files {
		if filepath.Base(file) == "parts_test.go" {
			continue
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		b.Write(content)
	}
	require.NotZero(t, b.Len(), "%s: there is no such package", o.command)
	return b.String()
}

// The arrows of a page lead where the site's keys lead.
func TestAnArrowLeadsToTheNextDocument(t *testing.T) {
	arrow := regexp.MustCompile(`\]\(([^)]+)\) →`)
	arrows := 0
	for _, file := range documents(t) {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range arrow.FindAllSubmatch(content, -1) {
			arrows++
			next, err := nextOf("docs/" + filepath.ToSlash(file))
			require.NoError(t, err)
			assert.Equal(t, next, path.Join("docs", filepath.ToSlash(
				filepath.Dir(file)), string(found[1])), file)
		}
	}
	assert.Equal(t, len(ladder.Rungs)+1, arrows, "page 00, and each rung's")
}
