package fenced_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest/laddertest"
)

var red = laddertest.RedFlag("^TestScenarios$")

func TestScenarios(t *testing.T) { laddertest.Run(t, "reentrant/fenced", red) }
