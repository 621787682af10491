package ladder_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/lock"
)

// forEach runs a test for every rung.
func forEach(t *testing.T, test func(*testing.T, ladder.Rung)) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) { test(t, rung) })
	}
}

// forEachPair runs a test for every rung that is read beside another.
func forEachPair(t *testing.T,
	test func(t *testing.T, parent, rung ladder.Rung)) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		if rung.Parent == "" {
			return
		}
		parent, err := ladder.Find(rung.Parent)
		require.NoError(t, err)
		test(t, parent, rung)
	})
}

// The diff of two rungs is the lesson, so the ladder says what it consists of.
// The code below the imports is compared, comments included.
func TestARungChangesWhatTheLadderSays(t *testing.T) {
	forEachPair(t, func(t *testing.T, parent, rung ladder.Rung) {
		before := byKey(declarations(t, parent.Name+"/lock.go"))
		after := byKey(declarations(t, rung.Name+"/lock.go"))
		changes := map[string]string{}
		for key, text := range after {
			switch was, ok := before[key]; {
			case !ok:
				changes[key] = "is new"
			case was != text:
				changes[key] = "is not the same in " + firstDifference(was,
					text)
			}
		}
		for key := range before {
			if _, ok := after[key]; !ok {
				changes[key] = "is gone"
			}
		}
		for _, key := range rung.Changes {
			if _, ok := changes[key]; !ok {
				t.Errorf("the ladder lists %q, which is not a difference of "+
					"%s and %s, or lists it twice", key, parent.Name, rung.Name)
			}
			delete(changes, key)
		}
		for _, key := range slices.Sorted(maps.Keys(changes)) {
			t.Errorf("the ladder does not list %q, which %s", key, changes[key])
		}
	})
}

// byKey joins what has the same key: the assertions of interfaces.
func byKey(all []declaration) map[string]string {
	texts := map[string]string{}
	for _, d := range all {
		texts[d.key] = strings.TrimSpace(texts[d.key] + "\n" + d.text)
	}
	return texts
}

// firstDifference quotes the first line that differs.
func firstDifference(was, is string) string {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	i := 0
	for i < len(before)-1 && i < len(after)-1 && before[i] == after[i] {
		i++
	}
	return fmt.Sprintf("line %d:\n\t%s\n\t%s", i+1, before[i], after[i])
}

// Only the hand-over is new in cohort: its leases are renewed as fair's are.
func TestCohortRenewsAsFairDoes(t *testing.T) {
	fair := read(t, "reentrant/fair/renew.lua")
	cohort := read(t, "reentrant/cohort/renew.lua")
	assert.True(t, fair == cohort, "renew.lua is not the same in %s",
		firstDifference(fair, cohort))
}

func TestSharedDeclarationsStandInTheSameOrder(t *testing.T) {
	forEachPair(t, func(t *testing.T, parent, rung ladder.Rung) {
		before := keys(declarations(t, parent.Name+"/lock.go"))
		after := keys(declarations(t, rung.Name+"/lock.go"))
		assert.Equal(t, only(before, after), only(after, before))
	})
}

// keys are the keys in the order in which they come first.
func keys(all []declaration) []string {
	var keys []string
	for _, d := range all {
		if !slices.Contains(keys, d.key) {
			keys = append(keys, d.key)
		}
	}
	return keys
}

// only keeps what others has as well.
func only(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(key string) bool {
		return !slices.Contains(others, key)
	})
}

// A new field stands in a block of its own. Only one that takes the place of a
// field that is gone stands among the old ones.
func TestNewFieldsStandInTheirOwnBlock(t *testing.T) {
	forEachPair(t, func(t *testing.T, parent, rung ladder.Rung) {
		before := slices.Concat(fieldBlocks(t, parent)...)
		blocks := fieldBlocks(t, rung)
		after := slices.Concat(blocks...)
		gone := len(before) - len(only(before, after))
		for _, block := range blocks {
			old := only(block, before)
			if len(old) == 0 {
				continue
			}
			gone -= len(block) - len(old)
			assert.GreaterOrEqual(t, gone, 0,
				"a new field stands among %q", old)
		}
	})
}

// fieldBlocks are the names of Lock's fields, split where a line is empty.
func fieldBlocks(t *testing.T, rung ladder.Rung) [][]string {
	file := rung.Name + "/lock.go"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, read(t, file),
		parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	i := slices.IndexFunc(parsed.Decls, func(node ast.Decl) bool {
		return site.Declared(node) == "Lock"
	})
	require.GreaterOrEqual(t, i, 0, "there is a type Lock")
	spec := parsed.Decls[i].(*ast.GenDecl).Specs[0].(*ast.TypeSpec)
	var blocks [][]string
	end := 0
	for _, field := range spec.Type.(*ast.StructType).Fields.List {
		start := field.Pos()
		if field.Doc != nil {
			start = field.Doc.Pos()
		}
		if line := set.Position(start).Line; line > end+1 {
			blocks = append(blocks, nil)
		}
		end = set.Position(field.End()).Line
		for _, name := range field.Names {
			last := len(blocks) - 1
			blocks[last] = append(blocks[last], name.Name)
		}
	}
	return blocks
}

func TestEveryRungHasTheSameFiles(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		for _, name := range []string{
			"doc.go", "lock.go", "lock_test.go", "example_test.go",
		} {
			assert.FileExists(t, filepath.Join(root,
				filepath.FromSlash(rung.Name), name))
		}
	})
}

func TestARungIsShort(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		limit := 130
		switch {
		case rung.Name == "diamond/watchdog":
			limit = 160
		case strings.HasPrefix(rung.Name, "reentrant"), rung.Name == "redlock":
			limit = 250
		}
		lines := strings.Count(read(t, rung.Name+"/lock.go"), "\n")
		assert.Less(t, lines, limit, "lines of lock.go")
	})
}

// Two rungs stand side by side on a screen.
func TestLinesStayWithin80Columns(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		for _, name := range files(t, rung, ".go", ".lua") {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text := read(t, path.Join(rung.Name, name))
			for i, line := range strings.Split(text, "\n") {
				if columns := width(line); columns > 80 {
					t.Errorf("%s:%d has %d columns: %s",
						name, i+1, columns, line)
				}
			}
		}
	})
}

// width counts columns at tab width 4.
func width(line string) int {
	columns := 0
	for _, r := range line {
		if r == '\t' {
			columns += 4 - columns%4
		} else {
			columns++
		}
	}
	return columns
}

// files are those of a rung's directory with such an ending.
func files(t *testing.T, rung ladder.Rung, endings ...string) []string {
	entries, err := os.ReadDir(filepath.Join(root,
		filepath.FromSlash(rung.Name)))
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if slices.Contains(endings, path.Ext(entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names
}

var argument = regexp.MustCompile(`(KEYS|ARGV)\[\d+\]`)

// A script's header says what it does and what each argument is.
func TestScriptsExplainTheirArguments(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		for _, name := range files(t, rung, ".lua") {
			var explained, used []string
			header := true
			text := read(t, path.Join(rung.Name, name))
			assert.True(t, strings.HasPrefix(text, "-- "+name+": "),
				"%s: the first line names the file", name)
			for line := range strings.Lines(text) {
				comment, ok := strings.CutPrefix(line, "-- ")
				header = header && ok
				if !header {
					used = append(used, argument.FindAllString(line, -1)...)
				} else if at := argument.FindStringIndex(comment); at != nil &&
					at[0] == 0 {
					explained = append(explained, comment[:at[1]])
				}
			}
			slices.Sort(used)
			slices.SortFunc(explained, func(a, b string) int {
				return -strings.Compare(b, a)
			})
			assert.Equal(t, slices.Compact(used), explained,
				"%s: what it uses, and what its header explains", name)
			assert.Contains(t, text, "\n-- Returns ", name)
		}
	})
}

var command = regexp.MustCompile(`(?m)^//\tgo test (.+)$`)

// The scenario of a rung is written under three headings, and ends with a
// command that lets the reader see it fail.
func TestDocNamesTheScenarios(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		text := read(t, rung.Name+"/doc.go")
		assert.True(t, strings.HasPrefix(text,
			"// Package "+path.Base(rung.Name)+" is "), "its first words")

		var headings []string
		for line := range strings.Lines(text) {
			if heading, ok := strings.CutPrefix(line, "// # "); ok {
				headings = append(headings, strings.TrimSpace(heading))
			}
		}
		assert.Equal(t, []string{
			"What changed", "What still breaks", "See it fail",
		}, headings)

		_, after, _ := strings.Cut(text, "// # See it fail\n")
		commands := command.FindAllStringSubmatch(after, -1)
		require.Len(t, commands, 1, "one command, after the last heading")
		fields := strings.Fields(commands[0][1])
		require.Len(t, fields, 2)
		assert.Equal(t, "./"+rung.Name, fields[0])
		scenario, ok := strings.CutPrefix(fields[1], "-red=")
		assert.True(t, ok, "-red names the scenario")
		assert.True(t, breaksIn(rung, scenario),
			"%s does not break %q", rung.Name, scenario)
	})
}

var bullet = regexp.MustCompile(`(?m)^//   - ([a-z_]+(, [a-z_]+)*): `)

// A rung's documentation names the breaks that the ladder declares.
func TestDocListsFlawsOfItsRung(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		text := read(t, rung.Name+"/doc.go")
		_, breaks, _ := strings.Cut(text, "// # What still breaks\n")
		for _, names := range bullet.FindAllStringSubmatch(breaks, -1) {
			for scenario := range strings.SplitSeq(names[1], ", ") {
				assert.True(t, breaksIn(rung, scenario),
					"%s does not break %q", rung.Name, scenario)
			}
		}
	})
}

// breaksIn says that the ladder lists a flaw of the rung for that scenario.
func breaksIn(rung ladder.Rung, scenario string) bool {
	return slices.ContainsFunc(rung.Flaws, func(flaw lock.Flaw) bool {
		return flaw.Scenario == scenario
	})
}
