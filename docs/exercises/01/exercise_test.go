//go:build exercise

package bronze

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "01", exercise.On(New))
}
