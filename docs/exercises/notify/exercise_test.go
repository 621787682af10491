//go:build exercise

package notify

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "notify", exercise.On(New))
}
