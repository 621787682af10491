//go:build exercise

package watchdog_test

import (
	"testing"

	watchdog "github.com/lockladder/lockladder/docs/exercises/08"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "08", exercise.On(watchdog.New))
}
