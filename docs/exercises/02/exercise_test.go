//go:build exercise

package silver

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "02", exercise.On(New))
}
