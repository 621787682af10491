package program_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/program"
)

func TestAFileOfFlawsSaysWhatBreaksAlwaysAndWhatSometimes(t *testing.T) {
	always, sometimes, err := program.Flaws("# of mine\nfailover: two holders\n\n" +
		"sometimes oversell: lost update # depends on a timer\n")
	require.NoError(t, err)
	assert.Equal(t, []lock.Flaw{{Scenario: "failover",
		Invariant: scenarios.TwoHolders}}, always)
	assert.Equal(t, []lock.Flaw{{Scenario: "oversell",
		Invariant: scenarios.LostUpdate}}, sometimes)
}

func TestAProgramIsToldItsErrorsInItsOwnWords(t *testing.T) {
	assert.Equal(t, "A's Unlock returns not_held, neither nil nor lost",
		program.InWords("A's Unlock returns lock.ErrNotHeld, neither nil nor ErrLost"))
}
