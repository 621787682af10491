//go:build exercise

package bronze_test

import (
	"testing"

	bronze "github.com/lockladder/lockladder/docs/exercises/01"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "01", exercise.On(bronze.New))
}
