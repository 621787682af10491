//go:build exercise

package notify_test

import (
	"testing"

	notify "github.com/lockladder/lockladder/docs/exercises/10"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "10", exercise.On(notify.New))
}
