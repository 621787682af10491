package cohort_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
	"github.com/lockladder/lockladder/scenarios"
)

var red = locktest.RedFlag("^TestScenarios$")

func TestScenarios(t *testing.T) { locktest.Rung(t, "reentrant/cohort", red) }

// With fencing tokens it is what reentrant/fenced is.
func TestScenariosFenced(t *testing.T) {
	locktest.Long(t, "TestScenarios runs the same scenarios")
	fenced, err := ladder.Find("reentrant/fenced")
	require.NoError(t, err)
	fenced.Name = "reentrant/cohort" // its tokens rise, and skip some
	fenced.Build = lock.On(cohort.NewFenced)
	scenarios.Run(t, fenced.Build, append(locktest.Options(fenced),
		red.Options(t, fenced.Flaws)...)...)
}
