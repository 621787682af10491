package main

import (
	"cmp"
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func TestMain(m *testing.M) {
	if process.Name() != "" {
		main() // this tidies up a borrowed server
	}
	testscript.Main(servers.AtOnce{M: m, Asked: onRedis, Parallel: atOnce}, map[string]func(){
		"check": main, "diamond": serve("diamond"), "redlock": serve("redlock"),
		"greedy": serveOn("redlock", 49), "chatty": chatty})
}

// serve is a rung as a program.
func serve(name string) func() { return serveOn(name, 0) }

// serveOn wants so many servers, 0 for those that the rung needs.
func serveOn(name string, servers int) func() {
	return func() {
		rung, err := ladder.Find(name)
		if err == nil {
			err = protocol.Serve(os.Stdin, os.Stdout, protocol.Answer{Library: rung.Name,
				Servers: cmp.Or(servers, rung.Nodes)}, rung.Build)
		}
		if err != nil {
			os.Exit(1)
		}
	}
}

// chatty is a program that greets its user.
func chatty() { os.Stdout.WriteString("Hello!\n") }

// TestScripts runs the scripts of testdata. Those whose condition is [server] start
// servers, which LOCKLADDER_REDIS asks for. $SOMEBODYS is a server that runs already.
func TestScripts(t *testing.T) {
	somebodys := miniredis.RunT(t)
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOMEBODYS", somebodys.Addr())
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "server" && os.Getenv(servers.Variable) != "", nil
		}})
}
