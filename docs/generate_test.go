package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
)

func TestMain(m *testing.M) {
	locktest.CollectLess()
	locktest.OneProcessor()
	testscript.Main(m, map[string]func(){"docs": main})
}

// root is the module.
var root = os.DirFS("..")

// content is the text of a file of the module.
func content(t *testing.T, file string) string {
	t.Helper()
	text, err := fs.ReadFile(root, file)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// A lock outside the module is run on servers that not everybody has. Its verdicts are
// kept in a file, which must know the scenarios that came later.
func TestEveryKeptResultHasEveryScenario(t *testing.T) {
	for _, name := range []string{"libraries", "mysql", "etcd", "zookeeper", "programs"} {
		locks, err := generated.Kept(root, name)
		require.NoError(t, err)
		require.NotEmpty(t, locks, name)
		for _, lock := range locks {
			assert.Empty(t, lock.Missing(), "%s has not run them: run go run ./docs"+
				" -generate %s, declare in field what breaks, and run it again",
				lock.Name, name)
		}
	}
}

func TestTheDocumentsAreWhatTheGeneratorMakes(t *testing.T) {
	locktest.WhenNamed(t, "it makes every page once more, which takes nine seconds:"+
		" go test ./docs -run DocumentsAre")
	g := generated.New(t, root, exhibits()...)
	stale, err := g.Stale()
	require.NoError(t, err)
	assert.Greater(t, len(generated.Documents(root)), 30, "documents were found")
	for file, texts := range stale {
		t.Errorf("%s is stale, run go run ./docs -generate:\n%s", file,
			udiff.Unified("present", "right", texts[0], texts[1]))
	}
	t.Run("every lock of a matrix is measured", func(t *testing.T) {
		for _, c := range g.Candidates {
			// The recipe of the survey is an exhibit.
			if c.Name == "zookeeper/recipe" {
				continue
			}
			if assert.NotNil(t, c.Cost, c.Name) {
				assert.True(t, c.Cost.Finished(), c.Name)
				assert.Equal(t, 1, c.Cost.Count("max_holders"), c.Name)
				assert.Zero(t, c.Cost.Count("oversold"), c.Name)
			}
		}
	})
}
