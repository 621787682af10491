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

func TestWhatIsWrongWithAFileOfFlawsIsSaidWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"failover":                        `line 1: "failover" should be "scenario: invariant"`,
		"\nfail_over: two holders":        `line 2: there is no scenario "fail_over"`,
		"sometimes oversell: orphaned":    `line 1: the invariants of oversell are lost update, not "orphaned"`,
		"sometimes sometimes failover: x": `line 1: there is no scenario "sometimes failover"`,
	} {
		_, _, err := program.Flaws(text)
		assert.EqualError(t, err, want)
	}
}
