package benchmark

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(subjects []Subject) []string {
	var names []string
	for _, subject := range subjects {
		names = append(names, subject.Name)
	}
	return names
}

func TestTheBaselinesStandAroundTheSubjects(t *testing.T) {
	assert.Equal(t, []string{"serial-limit", "no-lock", "mutex-per-service",
		"mine", "watch-multi", "lua-decrement"},
		names(Around(Subject{Name: "mine"})))
}

func TestASelectionKeepsTheOrderOfTheTable(t *testing.T) {
	selected, err := Select(Around(Subject{Name: "mine"}),
		"lua-decrement, mine,no-lock,mine")
	require.NoError(t, err)
	assert.Equal(t, []string{"no-lock", "mine", "lua-decrement"},
		names(selected))
}

func TestSelectingNothingSelectsAll(t *testing.T) {
	selected, err := Select(Around(), " ")
	require.NoError(t, err)
	assert.Len(t, selected, 5)
}

func TestAnUnknownNameIsAnsweredWithTheKnownOnes(t *testing.T) {
	for _, list := range []string{"gold", "no-lock,gold", "gold,"} {
		_, err := Select(Around(Subject{Name: "mine"}), list)
		assert.EqualError(t, err, `there is no rung or baseline "gold", there `+
			"are serial-limit, no-lock, mutex-per-service, mine, watch-multi, "+
			"lua-decrement")
	}
}
