package ladder_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
)

const module = "github.com/lockladder/lockladder"

// root is the directory of the module; tests run in that of their package.
var root = filepath.Join("..", "..")

// source is a Go file of the module.
type source struct {
	dir     string // below the root, with slashes: "gold/script"
	name    string // "lock.go"
	imports []string
}

func (s source) path() string { return path.Join(s.dir, s.name) }
func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// within says that the file is in that directory or below it.
func (s source) within(dir string) bool {
	return s.dir == dir || strings.HasPrefix(s.dir, dir+"/")
}

// sources are all Go files of the module, and none of a module inside it.
func sources(t *testing.T) []source {
	var all []source
	tree := os.DirFS(root)
	walk := func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == "." {
			return err
		}
		if entry.IsDir() {
			_, err := fs.Stat(tree, path.Join(file, "go.mod"))
			if err == nil || entry.Name() == "testdata" ||
				strings.HasPrefix(entry.Name(), ".") ||
				strings.HasPrefix(entry.Name(), "_") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		text := read(t, file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text,
			parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{dir: path.Dir(file), name: path.Base(file)}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	}
	require.NoError(t, fs.WalkDir(tree, ".", walk))
	return all
}

// read returns a file of the module. Lines end as they do in the repository,
// whatever a checkout made of them.
func read(t *testing.T, file string) string {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// rungDirs are the top-level directories that hold rungs.
func rungDirs() map[string]bool {
	dirs := map[string]bool{}
	for _, rung := range ladder.Rungs {
		top, _, _ := strings.Cut(rung.Name, "/")
		dirs[top] = true
	}
	return dirs
}

// declaration is a top-level declaration as a reader of the file sees it: with
// the comments above it, also those that belong to nothing.
type declaration struct {
	key  string // "New", "Lock", "Lock.TryLock", "_" for an assertion
	text string
}

// declarations are those of a file, in order, without its imports. The text
// after the last one is a declaration with the key "the end".
func declarations(t *testing.T, file string) []declaration {
	text := read(t, file)
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text,
		parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)

	var all []declaration
	done := set.Position(parsed.Name.End()).Offset
	for _, node := range parsed.Decls {
		// A trailing comment belongs to its declaration.
		end := set.Position(node.End()).Offset
		if line := strings.IndexByte(text[end:], '\n'); line >= 0 {
			end += line
		}
		if key := site.Declared(node); key != "" {
			all = append(all, declaration{key,
				strings.TrimSpace(text[done:end])})
		}
		done = end
	}
	if rest := strings.TrimSpace(text[done:]); rest != "" {
		all = append(all, declaration{"the end", rest})
	}
	return all
}
