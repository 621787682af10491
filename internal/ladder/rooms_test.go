package ladder_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayImport has, for every package that is neither a rung nor an exercise, the
// packages of the module that it may import, apart from its tests. The ladder may
// import all rungs as well. A new package gets a line; an arrow that runs back up
// would make a cycle of rooms, even where the compiler sees none.
var mayImport = map[string]string{
	"bench": "internal/bench internal/bench/command",
	"docs": "docs/before internal/locktest/laddertest internal/site " +
		"internal/site/generated internal/site/parts internal/site/play internal/servers/process " +
		"lock scenarios",
	"docs/before":    "lock",
	"internal/bench": "internal/bench/nodes internal/ladder lock",
	"internal/bench/command": "internal/bench internal/bench/machine " +
		"internal/bench/nodes internal/bench/inventory " +
		"internal/bench/jobs/cache internal/bench/jobs/catalog " +
		"internal/servers lock",
	"internal/bench/machine": "",
	"internal/bench/nodes": "internal/bench/machine internal/servers/process " +
		"internal/servers/proxy " +
		"lock",
	"internal/bench/report": "internal/bench lock",
	"internal/bench/inventory": "internal/bench internal/bench/machine " +
		"internal/bench/nodes internal/bench/report " +
		"internal/servers/process lock",
	"internal/servers/process": "",
	"internal/site/exercise": "internal/lab internal/lab/node internal/ladder internal/locktest/laddertest lock " +
		"scenarios scenarios/explore",
	"internal/bench/jobs":          "internal/bench internal/bench/nodes lock",
	"internal/bench/jobs/cache":    "internal/bench internal/bench/jobs lock",
	"internal/bench/jobs/catalog":  "internal/bench internal/bench/jobs lock",
	"internal/bench/jobs/imports":  "lock",
	"internal/bench/jobs/schedule": "lock",
	"internal/lab": "internal/lab/history internal/lab/judge internal/lab/node " +
		"internal/lab/order internal/lab/wire lock",
	"internal/lab/history":         "",
	"internal/lab/judge":           "internal/lab/history",
	"internal/lab/node":            "internal/lab/history",
	"internal/lab/order":           "",
	"internal/lab/wire":            "internal/lab/history internal/lab/node internal/lab/order",
	"internal/ladder":              "lock",
	"internal/locktest/laddertest": "internal/servers/process internal/ladder lock scenarios",
	"internal/ladder/mutate":       "internal/ladder",
	"internal/site/laboratory": "internal/site/exercise internal/ladder internal/locktest/laddertest " +
		"lock scenarios",
	"internal/site/laboratory/wasm": "internal/site/laboratory",
	"internal/locktest/mutants": "internal/ladder internal/locktest/laddertest " +
		"internal/locktest/mutants/guard lock scenarios/explore",
	"internal/locktest/mutants/guard": "lock",
	"internal/locktest/owners":        "internal/lab lock",
	"internal/locktest/queuetest":     "internal/lab internal/locktest/owners lock",
	"internal/site":                   "internal/lab internal/lab/history internal/site/levels internal/site/play scenarios",
	"internal/site/choosing":          "internal/bench internal/site/results scenarios",
	"internal/site/generated":         "",
	"internal/site/life":              "scenarios",
	"internal/site/parts": "internal/bench internal/site/exercise internal/ladder internal/locktest/laddertest " +
		"internal/lab/history internal/site internal/site/choosing " +
		"internal/site/generated internal/site/levels internal/site/life " +
		"internal/site/results internal/site/play scenarios scenarios/explore",
	"internal/site/levels":     "internal/site/play scenarios/explore",
	"internal/site/results":    "internal/site/generated scenarios",
	"internal/site/play":       "internal/lab/history",
	"internal/servers":         "internal/lab internal/servers/process internal/servers/proxy",
	"internal/locktest/rights": "internal/servers lock",
	"lock":                     "",
	"scenarios": "internal/lab internal/lab/history internal/lab/node internal/lab/order " +
		"internal/site/play internal/servers/process lock",
	"scenarios/check":        "internal/site internal/servers lock scenarios scenarios/program",
	"scenarios/program":      "internal/servers/process lock scenarios",
	"scenarios/program/rung": "internal/ladder scenarios/program",
	"scenarios/explore": "internal/lab internal/lab/history internal/lab/node " +
		"internal/lab/order internal/lab/wire internal/site/play lock",
	"internal/servers/proxy": "",
}

func TestEveryPackageImportsOnlyWhatItMay(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if isRung(s) || s.within("docs/exercises") || s.isTest() {
			continue
		}
		allowed, ok := mayImport[s.dir]
		if found[s.dir] = true; !ok {
			t.Errorf("package %s has no line in mayImport", s.dir)
		}
		for _, imported := range s.imports {
			dir, is := strings.CutPrefix(imported, module+"/")
			if is && !slices.Contains(strings.Fields(allowed), dir) &&
				!(s.dir == "internal/ladder" && isRungPath(imported)) {
				t.Errorf("%s imports %s, and mayImport has no such line", s.path(),
					dir)
			}
		}
	}
	for dir := range mayImport {
		assert.True(t, found[dir], "mayImport has %s, and there is no such package",
			dir)
	}
}

// longest is how many lines of code a file may have, without its comments and
// empty lines.
const longest = 450

func TestNoFileIsTooLong(t *testing.T) {
	for _, s := range sources(t) {
		text, lines := read(t, s.path()), 0
		if strings.Contains(text, "// Code generated ") {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		assert.LessOrEqual(t, lines, longest, "%s has too many lines of code",
			s.path())
	}
}

// backUp are the uses between files of the lab that run back up, because two types
// refer to each other. All other uses go one way.
var backUp = []string{
	"internal/lab: client.go uses lab.go",
	"internal/lab/history: history.go uses grants.go",
	"internal/lab/node: peer.go uses embedded.go",
	"internal/lab/node: scripts.go uses embedded.go",
	"internal/lab/wire: endpoint.go uses conn.go",
	"internal/lab/wire: net.go uses conn.go",
}

func TestNoFileOfTheLabLeadsBackToItself(t *testing.T) {
	inside := map[string][]source{}
	for _, s := range sources(t) {
		if s.within("internal/lab") && !s.isTest() {
			inside[s.dir] = append(inside[s.dir], s)
		}
	}
	var found []string
	for dir, files := range inside {
		uses := usesBetween(t, files)
		for from, used := range uses {
			for to := range used {
				use := dir + ": " + from + " uses " + to
				if slices.Contains(backUp, use) {
					found = append(found, use)
					delete(used, to)
				}
			}
		}
		// Files that use none of those that are left are taken out, until only
		// cycles and what leads to them are left.
		for rest := -1; len(uses) != rest; {
			rest = len(uses)
			for from, used := range uses {
				maps.DeleteFunc(used, func(to string, _ bool) bool {
					return uses[to] == nil
				})
				if len(used) == 0 {
					delete(uses, from)
				}
			}
		}
		assert.Empty(t, uses, "%s: these files lead back to themselves", dir)
	}
	assert.ElementsMatch(t, backUp, found)
}

// usesBetween has, for each file of a package, those whose declarations it names.
// What comes from other packages is not looked at.
func usesBetween(t *testing.T, files []source) map[string]map[string]bool {
	set := token.NewFileSet()
	var parsed []*ast.File
	uses := map[string]map[string]bool{}
	for _, s := range files {
		uses[s.name] = map[string]bool{}
		file, err := parser.ParseFile(set, s.path(), read(t, s.path()), 0)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	named := map[*ast.Ident]types.Object{}
	config := types.Config{
		Importer: importer(func(imported string) (*types.Package, error) {
			return types.NewPackage(imported, path.Base(imported)), nil
		}),
		Error: func(error) {}, // what is missing belongs to other packages
	}
	checked, _ := config.Check(files[0].dir, set, parsed, &types.Info{Uses: named})
	for ident, object := range named {
		_, variable := object.(*types.Var)
		if object.Pkg() != checked || variable && object.Parent() != checked.Scope() {
			continue // a field, or a variable in a function
		}
		from := path.Base(set.Position(ident.Pos()).Filename)
		to := path.Base(set.Position(object.Pos()).Filename)
		if from != to {
			uses[from][to] = true
		}
	}
	return uses
}
