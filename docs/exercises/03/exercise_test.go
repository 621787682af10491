//go:build exercise

package timestamp

import (
	"testing"

	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "03", exercise.On(New))
}
