package scenarios_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios"
)

// declared is a variable with a scenario, and the scenario's name.
var declared = regexp.MustCompile(`= Scenario\{[^}]*?\bName: +"(\w+)"`)

// A scenario that is written and not in the catalogue would never run, and nothing
// would say so.
func TestEveryScenarioIsInTheCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var written, listed []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range declared.FindAllSubmatch(source, -1) {
			written = append(written, string(found[1]))
		}
	}
	for _, s := range scenarios.Catalogue {
		listed = append(listed, s.Name)
	}
	assert.ElementsMatch(t, listed, written, "Catalogue, in catalogue.go, has the first,"+
		" and the files declare the second")
}
