//go:build exercise

package redlock_test

import (
	"testing"

	redlock "github.com/lockladder/lockladder/docs/exercises/14"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "14", exercise.OnAll(redlock.New))
}
