//go:build exercise

package fenced

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "fenced", Build)
}
