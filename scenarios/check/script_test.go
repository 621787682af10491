package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func TestMain(m *testing.M) {
	if process.Name() != "" {
		main() // this tidies up a borrowed server
	}
	testscript.Main(servers.AtOnce{M: m, Asked: onRedis, Parallel: atOnce},
		map[string]func(){"check": main, "greedy": greedy})
}

// greedy is a program whose lock wants more servers than there are.
func greedy() {
	rung, err := ladder.Find("redlock")
	if err == nil {
		err = protocol.Serve(os.Stdin, os.Stdout, protocol.Answer{Servers: 49}, rung.Build)
	}
	if err != nil {
		os.Exit(1)
	}
}

// TestScripts runs the scripts of testdata. Those whose condition is [server] start
// servers, which LOCKLADDER_REDIS asks for. $SOMEBODYS is a server that runs already, and
// $STARTER the lock that the challenges begin with.
func TestScripts(t *testing.T) {
	somebodys := miniredis.RunT(t)
	starter, err := filepath.Abs("../../docs/challenges/lock.py")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOMEBODYS", somebodys.Addr())
			env.Setenv("STARTER", starter)
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "server" && os.Getenv(servers.Variable) != "", nil
		}})
}
