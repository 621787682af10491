package scenarios_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios"
)

// A scenario that is written and not in the catalogue would never run, and nothing
// would say so.
func TestEveryScenarioIsInTheCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	written := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			name := scenarioName(declared)
			if name == "" {
				continue
			}
			written++
			assert.True(t, slices.ContainsFunc(scenarios.Catalogue,
				func(s scenarios.Scenario) bool { return s.Name == name }),
				"%s in %s has no entry in Catalogue, in catalogue.go", name, file)
		}
	}
	assert.Equal(t, len(scenarios.Catalogue), written)
}

// scenarioName is the name of the Scenario that a variable is declared with, or "".
func scenarioName(declared ast.Decl) (name string) {
	ast.Inspect(declared, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncDecl); ok {
			return false
		}
		literal, ok := n.(*ast.CompositeLit)
		if !ok || name != "" {
			return name == ""
		}
		if kind, ok := literal.Type.(*ast.Ident); !ok || kind.Name != "Scenario" {
			return false
		}
		for _, element := range literal.Elts {
			field := element.(*ast.KeyValueExpr)
			if value, ok := field.Value.(*ast.BasicLit); ok &&
				field.Key.(*ast.Ident).Name == "Name" {
				name = strings.Trim(value.Value, `"`)
			}
		}
		return false
	})
	return name
}
