package fair_test

import (
	"flag"
	"os"
	"testing"

	"github.com/lockladder/lockladder/internal/ladder/laddertest"
)

var red = flag.Bool("red", os.Getenv("RED") != "",
	"let the failing assertions of the known flaws through")

func TestScenarios(t *testing.T) { laddertest.Run(t, "reentrant/fair", *red) }
