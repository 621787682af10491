// Package exercise holds the workshop's exercises together: which stories each
// of them is about, and what its start breaks.
package exercise

import (
	"slices"
	"testing"

	"github.com/lockladder/lockladder/scenarios"
)

// Only leaves nothing but the named scenarios in the catalogue, in its order,
// until the test ends. Tests that use it must not run beside others.
func Only(t testing.TB, names ...string) {
	t.Helper()
	whole := scenarios.Catalogue
	var some []scenarios.Scenario
	for _, s := range whole {
		if slices.Contains(names, s.Name) {
			some = append(some, s)
		}
	}
	if len(some) != len(names) {
		t.Fatalf("of the scenarios %q there are only %d", names, len(some))
	}
	scenarios.Catalogue = some
	t.Cleanup(func() { scenarios.Catalogue = whole })
}
