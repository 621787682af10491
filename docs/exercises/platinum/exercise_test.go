//go:build exercise

package platinum

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "platinum", exercise.On(New))
}
