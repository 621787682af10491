//go:build exercise

package bronze

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "bronze", exercise.On(New))
}
