package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/process"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/scenarios/program"
)

func TestMain(m *testing.M) {
	if process.Name() != "" {
		main() // this tidies up a borrowed server
	}
	testscript.Main(serverstest.AtOnce{M: m, Asked: onRedis, Parallel: atOnce}, map[string]func(){
		"check": main, "diamond": diamond, "chatty": chatty})
}

// diamond is that rung as a program.
func diamond() {
	rung, err := ladder.Find("diamond")
	if err == nil {
		err = program.Serve(os.Stdin, os.Stdout, program.Answer{Library: rung.Name},
			rung.Build)
	}
	if err != nil {
		os.Exit(1)
	}
}

// chatty is a program that greets its user.
func chatty() { os.Stdout.WriteString("Hello!\n") }

// TestScripts runs the scripts of testdata. Those whose condition is [server] start
// servers, which LOCKLADDER_REDIS asks for.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			return name == "server" && os.Getenv(serverstest.Variable) != "", nil
		}})
}
