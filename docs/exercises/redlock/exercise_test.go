//go:build exercise

package redlock

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "redlock", lock.OnAll(New))
}
