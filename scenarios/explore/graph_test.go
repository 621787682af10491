package explore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/scenarios/explore"
)

func TestGraph(t *testing.T) {
	names := []string{"bronze", "gold"}
	dir := *graphs
	if dir == "" {
		dir = t.TempDir()
	} else {
		names = nil
		for _, r := range ladder.Rungs {
			names = append(names, r.Name)
		}
	}
	if err := writable(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := laddertest.Find(t, name)
			graph := explore.Draw(t, r.Build, standardBounds(r))[0]
			file := filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".json")
			if err := os.WriteFile(file, graph, 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(t.Output(), "%s\n", file)
			var read explore.Graph
			require.NoError(t, json.Unmarshal(graph, &read))
			assert.NotEmpty(t, read.States)
			assert.Greater(t, len(read.Edges), len(read.States))
			assert.False(t, read.Stopped)
			if name == "gold" {
				assert.Equal(t, []string{"node 1: lock:stock = locked, until 10.000," +
					" A's since 0.000"}, read.States[1].Nodes)
			}
		})
	}
}
