//go:build exercise

package fair_test

import (
	"testing"

	fair "github.com/lockladder/lockladder/docs/exercises/12"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "12", exercise.On(fair.New))
}
