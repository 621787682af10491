//go:build exercise

package readwrite_test

import (
	"testing"

	readwrite "github.com/lockladder/lockladder/docs/exercises/14"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "14", exercise.On(readwrite.New))
}
