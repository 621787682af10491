//go:build exercise

package diamond_test

import (
	"testing"

	diamond "github.com/lockladder/lockladder/docs/exercises/07"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "07", exercise.On(diamond.New))
}
