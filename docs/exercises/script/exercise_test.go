//go:build exercise

package script

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "script", exercise.On(New))
}
