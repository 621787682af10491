//go:build exercise

package reentrant_test

import (
	"testing"

	reentrant "github.com/lockladder/lockladder/docs/exercises/09"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "09", exercise.On(reentrant.New))
}
