//go:build exercise

package cohort_test

import (
	"testing"

	cohort "github.com/lockladder/lockladder/docs/exercises/13"
	"github.com/lockladder/lockladder/internal/exercise"
)

func TestExercise(t *testing.T) {
	exercise.Run(t, "13", exercise.On(cohort.New))
}
