//go:build exercise

package timestamp_test

import (
	"testing"

	timestamp "github.com/lockladder/lockladder/docs/exercises/03"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "03", exercise.On(timestamp.New))
}
