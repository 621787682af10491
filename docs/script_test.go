package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts of testdata/scripts, in the module's directory. Nobody
// listens at $ADDR until a script's site does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/scripts",
		RequireExplicitExec: true,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails":   fails,
			"answers": answers,
		},
	})
}

func setUp(env *testscript.Env) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	env.Setenv("ADDR", free.Addr().String())
	env.Cd, err = filepath.Abs(here)
	return errors.Join(err, free.Close())
}

// fails STATUS TEXT ARG... runs the program, which must exit with that status and
// print nothing but a line with that text.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("docs", args[2:]...)
	if exit, is := err.(*exec.ExitError); !is || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, and not status %s", err, args[0])
	}
	if stdout := ts.ReadFile("stdout"); stdout != "" {
		ts.Fatalf("it prints: %s", stdout)
	}
	line := regexp.MustCompile(`^docs: [^\n]*` + regexp.QuoteMeta(args[1]) + `[^\n]*\n$`)
	if stderr := ts.ReadFile("stderr"); !line.MatchString(stderr) {
		ts.Fatalf("not one line with %q: %s", args[1], stderr)
	}
}

// answers METHOD PATH STATUS TEXT asks the site at $ADDR, which may be about to start.
// A redirection isn't followed.
func answers(ts *testscript.TestScript, _ bool, args []string) {
	request, err := http.NewRequest(args[0], "http://"+ts.Getenv("ADDR")+args[1], nil)
	ts.Check(err)
	request.Host = ts.Getenv("HOST") // "": that of the address
	response, err := http.DefaultTransport.RoundTrip(request)
	for begun := time.Now(); err != nil && time.Since(begun) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
		response, err = http.DefaultTransport.RoundTrip(request)
	}
	ts.Check(err)
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	ts.Check(err)
	if fmt.Sprint(response.StatusCode) != args[2] || !strings.Contains(string(body), args[3]) {
		ts.Fatalf("status %d, and not %q with %q: %s", response.StatusCode, args[2],
			args[3], body)
	}
}
