package ladder_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
)

// rings are the directories of the module from the inside out. A package imports what is
// in its own directory of this list, and in those of the rings before. "rungs" are all of
// the ladder's. Tests may import what they like, but those of a rung no other rung.
var rings = []string{
	"lock",
	"rungs",
	"internal/terminal",
	"internal/flaws internal/lab internal/servers/process internal/servers/proxy",
	"internal/servers internal/site/recording scenarios/protocol",
	"internal/ladder scenarios scenarios/explore",
	"internal/locktest",
	"internal/bench internal/site/exercise",
	"docs/exercises internal/site",
	"bench docs docs/challenges scenarios/benchmark scenarios/check scenarios/explore/explorer",
}

// ring is where a package is: in which ring, and in which directory of it.
func ring(pkg string) (number int, directory string) {
	for i, ring := range rings {
		for _, dir := range strings.Fields(ring) {
			if below(pkg, dir) && len(dir) > len(directory) {
				number, directory = i, dir
			}
		}
	}
	for _, r := range ladder.Rungs {
		if top, _, _ := strings.Cut(r.Name, "/"); below(pkg, top) {
			return 1, pkg
		}
	}
	return number, directory
}

func below(file, dir string) bool { return file == dir || strings.HasPrefix(file, dir+"/") }

func TestDependenciesPointOneWay(t *testing.T) {
	for _, s := range sources(t) {
		number, directory := ring(s.dir)
		require.NotEmpty(t, directory, "%s is in no ring", s.dir)
		for _, imported := range s.imports {
			to, other := ring(imported)
			switch {
			case other == "" || other == directory || imported == s.dir:
			case number == 1 && to == 1:
				// The branches of reentrant share code, and they and fenced the watchdog's: a
				// copy of it would hide the lesson.
				shared := below(s.dir, "reentrant") && (imported == "reentrant" ||
					below(imported, "reentrant/internal"))
				assert.True(t, shared || imported == "diamond/watchdog",
					"%s imports the rung %s", s, imported)
			default:
				assert.True(t, to < number || s.isTest(), "%s imports %s, which is in"+
					" no ring before its own", s, imported)
			}
		}
	}
}

// A rung shows all that it sends: it has no other libraries, and package lock, which the
// rungs share, sends no command of its own. The one file that is left out there sends what
// a rung hands to it.
func TestARungSendsItsCommandsItself(t *testing.T) {
	commands := reflect.TypeFor[redis.Cmdable]()
	for _, s := range sources(t) {
		number, _ := ring(s.dir)
		if number > 1 || s.isTest() || s.String() == "lock/once.go" {
			continue
		}
		for _, imported := range s.imports {
			assert.Regexp(t, `^([^.]*$|github.com/redis/go-redis/v9|golang.org/x/sync|github.com/google/uuid)`,
				imported, s)
		}
		if number == 1 {
			continue
		}
		for _, call := range regexp.MustCompile(`\.(\w+)\(ctx`).FindAllStringSubmatch(
			read(t, s.String()), -1) {
			_, sends := commands.MethodByName(call[1])
			assert.False(t, sends, "%s sends %s", s, call[1])
		}
	}
}

// longest is how many lines of code a file may have, without its comments and empty
// lines.
const longest = 450

func TestNoFileIsTooLong(t *testing.T) {
	for _, s := range sources(t) {
		lines := 0
		for line := range strings.Lines(read(t, s.String())) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		assert.LessOrEqual(t, lines, longest, "%s has too many lines of code", s)
	}
}

// source is a Go file of the module.
type source struct {
	dir, name string   // "gold/script", "lock.go"
	imports   []string // those of the module without its name
}

func (s source) String() string { return path.Join(s.dir, s.name) }
func (s source) isTest() bool   { return strings.HasSuffix(s.name, "_test.go") }

// root is the directory of the module; tests run in that of their package.
var root = filepath.Join("..", "..")

// sources are all Go files of the module, and none of a module inside it.
func sources(t *testing.T) (all []source) {
	tree := os.DirFS(root)
	require.NoError(t, fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		_, noModule := fs.Stat(tree, path.Join(file, "go.mod"))
		switch {
		case err != nil || file == ".":
			return err
		case entry.IsDir() && (noModule == nil || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case path.Ext(file) == ".go":
			all = append(all, parsed(t, file))
		}
		return nil
	}))
	return all
}

func parsed(t *testing.T, file string) source {
	tree, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.ImportsOnly)
	require.NoError(t, err)
	s := source{dir: path.Dir(file), name: path.Base(file)}
	for _, spec := range tree.Imports {
		s.imports = append(s.imports, strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`),
			"github.com/lockladder/lockladder/"))
	}
	return s
}

// read returns a file of the module. Lines end as they do in the repository, whatever a
// checkout made of them.
func read(t *testing.T, file string) string {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
