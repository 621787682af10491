package parts

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
)

func TestAPartThatNobodyMakesIsRefused(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, part := range []string{"", "nothing", "place", "place ", "place brass",
		"contents of", "matrix", "rows", "red gold/crash_holding"} {
		_, err := g.part("docs/04-gold.md", part, "old")
		assert.Error(t, err, part)
	}
	text, err := g.part("docs/explorer.md", "rows", "old")
	require.NoError(t, err)
	assert.Equal(t, "old", text, "the explorer's tests make it")
}

func TestEveryPartOfTheRegistryIsOnItsPage(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, p := range registry {
		if p.page == "" {
			continue
		}
		document, err := g.source(p.page)
		require.NoError(t, err)
		names, _, err := generated.Parts(document)
		require.NoError(t, err)
		assert.Contains(t, names, strings.TrimSuffix(p.name, " "), p.page)
	}
}
