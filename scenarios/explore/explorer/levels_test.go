package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/levels"
	"github.com/lockladder/lockladder/internal/site/play"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// standardOnce is a rung's row in the table of docs/explorer.md on which its levels
// are played.
func standardOnce(t *testing.T, name string) row {
	t.Helper()
	rows := rows()
	i := slices.IndexFunc(rows, func(r row) bool {
		return r.name() == name+"/standard/once"
	})
	require.GreaterOrEqual(t, i, 0, "there is no row %s/standard/once", name)
	return rows[i]
}

// The site's levels are the explorer's graphs, and each par and each proof is the
// explorer's.
func TestLevels(t *testing.T) {
	var locks []string
	for _, level := range levels.All {
		if !slices.Contains(locks, level.Lock) {
			locks = append(locks, level.Lock)
		}
	}
	for _, name := range locks {
		t.Run(name, func(t *testing.T) {
			r := standardOnce(t, name)
			if !*all && r.slow {
				t.Skip("its graph takes a second: -all draws it, too")
			}
			t.Parallel()
			dir := t.TempDir()
			explore.Run(t, r.rung.Build, r.bounds, explore.Record(dir))
			recorded, err := os.Open(filepath.Join(dir, "once.json"))
			require.NoError(t, err)
			defer recorded.Close()
			read, err := play.Read(recorded)
			require.NoError(t, err)
			graph := read.Graph
			graph.Lock = name
			solve(t, r, graph)
			text, err := graph.JSON()
			require.NoError(t, err)
			file := strings.TrimPrefix(levels.File(name), "docs/")
			if generated.Deliver(t, file, "", text) {
				return
			}
			assert.True(t, text == generated.Text(t, file, ""),
				"docs/%s is stale, run go run ./docs -generate levels", file)
		})
	}
}

// solve plays each schedule that breaks a goal on the graph, as a reader does, and
// looks for one in the whole graph where none is known.
func solve(t *testing.T, r row, g *play.Graph) {
	t.Helper()
	unnamed := regexp.MustCompile(`EVALSHA [0-9a-f]{8}\b.*`)
	assert.Empty(t, unnamed.FindString(strings.Join(g.Texts, "\n")), "a script has a name")
	for bit, goal := range g.Goals {
		if goal.Schedule == "" {
			for from, edges := range g.Edges {
				for i := 0; i < len(edges); i += 3 {
					assert.Zero(t, edges[i+2]&(1<<bit), "%s is proved, and an edge"+
						" from state %d breaks it", goal.Invariant, from)
				}
			}
			continue
		}
		_, actions, _ := strings.Cut(goal.Schedule, ": ")
		state, broken := 0, false
		for _, action := range strings.Fields(actions) {
			require.False(t, broken, "%s is broken before the end", goal.Invariant)
			edges := g.Edges[state]
			i := 0
			for i < len(edges) && g.Texts[edges[i]] != action {
				i += 3
			}
			require.Less(t, i, len(edges), "%s is not possible in %s", action,
				goal.Schedule)
			state, broken = edges[i+1], edges[i+2]&(1<<bit) != 0
		}
		assert.True(t, broken, goal.Schedule)
		assert.Equal(t, goal.Steps, len(strings.Fields(actions)))
		replayed := explore.Replay(t, r.rung.Build, r.bounds, goal.Schedule)
		assert.True(t, breaks(replayed, explore.Invariant(goal.Invariant)),
			fmt.Sprint(goal))
	}
}
