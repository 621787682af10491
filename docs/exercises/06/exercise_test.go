//go:build exercise

package platinum_test

import (
	"testing"

	platinum "github.com/lockladder/lockladder/docs/exercises/06"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "06", exercise.On(platinum.New))
}
