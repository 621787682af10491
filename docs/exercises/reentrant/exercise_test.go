//go:build exercise

package reentrant

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "reentrant", exercise.On(New))
}
