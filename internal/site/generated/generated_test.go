package generated

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPartThatNobodyMakesIsRefused(t *testing.T) {
	root := os.DirFS("../../..")
	g := &Generator{root: root, recordings: Record(t, root)}
	for _, part := range []string{"", "nothing", "place", "place ", "place brass",
		"contents of", "matrix", "rows", "red gold/crash_holding"} {
		_, err := g.part("docs/3-gold.md", part)
		assert.Error(t, err, part)
	}
}

func TestEveryPartOfTheRegistryIsOnItsPage(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, p := range registry {
		if p.page == "" {
			continue
		}
		document, err := g.source(p.page)
		require.NoError(t, err)
		assert.Contains(t, document, "<!-- generated: "+p.name+" -->", p.page)
	}
}

// Two requests for one run make it once. A run of no interest isn't there.
func TestARunIsMadeWhenItIsFirstRead(t *testing.T) {
	r := Record(t, os.DirFS("../../.."))
	read := func(file string) string {
		text, err := fs.ReadFile(r, file)
		require.NoError(t, err)
		return string(text)
	}
	const file = "docs/runs/gold/overrun_release/foreign-release.json"
	texts := make(chan string)
	for range 2 {
		go func() { texts <- read(file) }()
	}
	first, second := <-texts, <-texts
	assert.Contains(t, first, `"verdict":"breaks"`)
	assert.Contains(t, first, `"beside":["silver","platinum","gold/script"]`)
	assert.Equal(t, first, second)
	assert.NotEmpty(t, read("docs/3-gold.md"), "the module's own files")
	for _, none := range []string{"docs/runs/gold/crash_holding/orphaned.json",
		"docs/runs/gold/overrun_release/orphaned.json", "docs/runs/brass/x/y.json",
		"docs/runs/gold/brass/orphaned.json", "docs/runs/gold", "docs/levels/redlock.json"} {
		_, err := fs.Stat(r, none)
		assert.ErrorIs(t, err, fs.ErrNotExist, none)
	}
}
