//go:build exercise

package silver_test

import (
	"testing"

	silver "github.com/lockladder/lockladder/docs/exercises/02"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "02", exercise.On(silver.New))
}
