package ladder_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Dependencies point one way, in rungs and in tests too, of which mayImport says
// nothing. A rule is about the files that match, and holds as soon as there are
// any: a package that is not written yet breaks nothing.
var rules = []struct {
	name  string
	about func(source) bool
	may   func(s source, imported string) bool
}{
	{
		name: "a rung imports go-redis, x/sync, uuid and lock",
		about: func(s source) bool {
			return isRung(s) && !s.isTest()
		},
		may: func(s source, imported string) bool {
			return standard(imported) ||
				below(imported, "github.com/redis/go-redis/v9") ||
				below(imported, "golang.org/x/sync") ||
				imported == "github.com/google/uuid" ||
				imported == module+"/lock" ||
				branchOfReentrant(s, imported)
		},
	},
	{
		name:  "a rung's tests import no other rung",
		about: func(s source) bool { return isRung(s) && s.isTest() },
		may: func(s source, imported string) bool {
			return !isRungPath(imported) || branchOfReentrant(s, imported)
		},
	},
	{
		name:  "nothing imports bench, and only docs imports docs",
		about: func(source) bool { return true },
		may: func(s source, imported string) bool {
			return imported == module+"/"+s.dir ||
				!below(imported, module+"/bench") &&
					(s.within("docs") || !below(imported, module+"/docs"))
		},
	},
}

func TestDependenciesPointOneWay(t *testing.T) {
	all := sources(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			assert.True(t, slices.ContainsFunc(all, rule.about), "it is about a file")
			for _, s := range all {
				for _, imported := range s.imports {
					if rule.about(s) && !rule.may(s, imported) {
						t.Errorf("%s imports %s", s.path(), imported)
					}
				}
			}
		})
	}
}

func isRung(s source) bool {
	top, _, _ := strings.Cut(s.dir, "/")
	return rungDirs()[top]
}

func isRungPath(imported string) bool {
	dir, ok := strings.CutPrefix(imported, module+"/")
	return ok && isRung(source{dir: dir})
}

// branchOfReentrant is the one exception: reentrant and the rungs that branch from it
// may import the watchdog, and the branches may import reentrant, and the packages that
// they share, where a copy of 200 lines would hide the lesson. A test may import the
// package that it tests.
func branchOfReentrant(s source, imported string) bool {
	return s.within("reentrant") && imported == module+"/diamond/watchdog" ||
		strings.HasPrefix(s.dir, "reentrant/") &&
			(imported == module+"/reentrant" ||
				below(imported, module+"/reentrant/internal")) ||
		s.isTest() && imported == module+"/"+s.dir
}

// standard says that a package is of the standard library: only the others have
// a host name in front.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func below(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

// lock is compiled here against a go-redis that has clients without
// methods only. A command sent there would not compile. The one file that is left
// out sends what a rung hands to it, and says nothing of its own.
func TestInternalLockSendsNoCommand(t *testing.T) {
	const clientOnly = `package redis; type UniversalClient interface{}
		type Ring struct{}
		type Options struct{ Addr string; Dialer any }`
	set := token.NewFileSet()
	stub, err := parser.ParseFile(set, "redis.go", clientOnly, 0)
	require.NoError(t, err)
	goRedis, err := new(types.Config).Check("redis", set, []*ast.File{stub},
		nil)
	require.NoError(t, err)

	var files []*ast.File
	for _, s := range sources(t) {
		if !s.within("lock") || s.isTest() ||
			s.path() == "lock/once.go" {
			continue
		}
		assert.Equal(t, "lock", s.dir, "one package is checked here")
		file, err := parser.ParseFile(set, s.path(), read(t, s.path()), 0)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			if strings.HasSuffix(spec.Path.Value, `/rand/v2"`) {
				spec.Name = ast.NewIdent("rand") // it is taken to be v2
			}
		}
		files = append(files, file)
	}
	require.NotEmpty(t, files)

	missing := errors.New("not needed here")
	config := types.Config{
		// Nothing is said about what comes from a package that is missing.
		Importer: importer(func(imported string) (*types.Package, error) {
			if imported == "github.com/redis/go-redis/v9" {
				return goRedis, nil
			}
			return nil, missing
		}),
		Error: func(err error) {
			if !strings.Contains(err.Error(), missing.Error()) {
				t.Error(err)
			}
		},
	}
	checked, _ := config.Check(module+"/lock", set, files, nil)
	assert.True(t, slices.Contains(checked.Imports(), goRedis),
		"it was compiled against the stub")
}

type importer func(string) (*types.Package, error)

func (i importer) Import(imported string) (*types.Package, error) {
	return i(path.Clean(imported))
}
