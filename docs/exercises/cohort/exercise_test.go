//go:build exercise

package cohort

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "cohort", exercise.On(New))
}
