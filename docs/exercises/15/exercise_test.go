//go:build exercise

package readwrite_test

import (
	"testing"

	readwrite "github.com/lockladder/lockladder/docs/exercises/15"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "15", exercise.On(readwrite.New))
}
