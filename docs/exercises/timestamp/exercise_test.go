//go:build exercise

package timestamp

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "timestamp", exercise.On(New))
}
