//go:build exercise

package redlock

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "14", exercise.OnAll(New))
}
