package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockladder/lockladder/internal/locktest"
)

func TestMain(m *testing.M) {
	locktest.CollectLess()
	flag.Parse()
	if !*all {
		locktest.OneProcessor() // long walks are taken at the same time
	}
	testscript.Main(m, map[string]func(){"explorer": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true})
}
