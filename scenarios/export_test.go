package scenarios

import (
	"fmt"
	"testing"
)

// Tell tells one scenario and returns its results instead of failing the test.
func Tell(t *testing.T, name string, build Build, opts ...Option) (
	[]Result, error) {
	t.Helper()
	s := settings{nodes: 1}
	for _, set := range opts {
		set(&s)
	}
	for _, scenario := range Catalogue {
		if scenario.Name == name {
			return tell(t, scenario, build, s)
		}
	}
	return nil, fmt.Errorf("there is no scenario %q", name)
}
