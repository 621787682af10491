package fenced_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
)

var red = locktest.RedFlag("^TestScenarios$")

func TestScenarios(t *testing.T) { locktest.Rung(t, "diamond/fenced", red) }
