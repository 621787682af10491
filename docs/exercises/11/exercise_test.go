//go:build exercise

package fenced_test

import (
	"testing"

	fenced "github.com/lockladder/lockladder/docs/exercises/11"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "11", exercise.On(fenced.New))
}
