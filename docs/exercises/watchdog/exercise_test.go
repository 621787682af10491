//go:build exercise

package watchdog

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "watchdog", exercise.On(New))
}
