//go:build exercise

package platinum

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "06", exercise.On(New))
}
