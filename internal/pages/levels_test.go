package pages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages/levels"
	"github.com/lockladder/lockladder/internal/play"
)

// Every level has a graph, in which the explorer has judged its invariant.
func TestEveryLevelCanBePlayed(t *testing.T) {
	for _, level := range levels.All {
		t.Run(level.String(), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../..",
				levels.File(level.Lock)))
			require.NoError(t, err)
			var graph play.Graph
			require.NoError(t, json.Unmarshal(text, &graph))
			assert.True(t, slices.ContainsFunc(graph.Goals, func(g play.Goal) bool {
				return g.Invariant == string(level.Invariant)
			}))
			assert.NotEmpty(t, level.Ask)
		})
	}
}
