//go:build exercise

package diamond

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "07", exercise.On(New))
}
