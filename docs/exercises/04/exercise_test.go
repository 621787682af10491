//go:build exercise

package gold_test

import (
	"testing"

	gold "github.com/lockladder/lockladder/docs/exercises/04"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "04", exercise.On(gold.New))
}
