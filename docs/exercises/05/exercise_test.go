//go:build exercise

package script_test

import (
	"testing"

	script "github.com/lockladder/lockladder/docs/exercises/05"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "05", exercise.On(script.New))
}
