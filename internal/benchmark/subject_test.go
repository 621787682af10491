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

func some() []Subject {
	return []Subject{{Name: "no-lock"}, {Name: "mine"}, {Name: "lua-decrement"}}
}

func TestASelectionKeepsTheOrderOfTheTable(t *testing.T) {
	selected, err := Select(some(),
		"lua-decrement, mine,no-lock,mine")
	require.NoError(t, err)
	assert.Equal(t, []string{"no-lock", "mine", "lua-decrement"},
		names(selected))
}

func TestANameThatIsNoneIsAnsweredWithTheKnownOnes(t *testing.T) {
	for list, wrong := range map[string]string{
		"gold":         `there is no "gold"`,
		"no-lock,gold": `there is no "gold"`,
		"no-lock,":     `there is a comma too many in "no-lock,"`,
		",no-lock":     `there is a comma too many in ",no-lock"`,
		"":             "at least one name is needed",
		" , ":          "at least one name is needed",
	} {
		_, err := Select(some(), list)
		assert.EqualError(t, err, wrong+"; the names are no-lock, mine, "+
			"lua-decrement")
	}
}
