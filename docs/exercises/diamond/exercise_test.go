//go:build exercise

package diamond

import (
	"testing"

	"github.com/lockladder/lockladder/internal/site/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "diamond", exercise.On(New))
}
