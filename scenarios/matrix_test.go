package scenarios_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
)

func TestEveryRungBreaksWhatTheLadderDeclaresAndNothingElse(t *testing.T) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			t.Parallel()
			laddertest.Run(t, rung.Name, false)
		})
	}
}
