package generated

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// test makes parts of pages in a run of a package's tests: because it takes minutes,
// because it needs servers, or because the tests have what it takes. The parts' marks
// name it.
type test struct {
	args   string // those of go test
	module string // the module's directory, "" for the root
}

// tests are all of them, by what go run ./docs -generate calls them. Every other part is
// made by go run ./docs -generate.
var tests = map[string]test{
	// These write docs/results, from which parts are made, too.
	"mysql":     {args: "./mysql", module: "field"},
	"zookeeper": {args: "./zookeeper", module: "field"},
	"etcd":      {args: "./etcd", module: "field"},
	"libraries": {args: "./libraries", module: "field"},
	"programs":  {args: "./programs -redis auto -timeout 60m", module: "field"},

	"cache":     {args: "./jobs/cache -run CacheTablesOfThePage", module: "field"},
	"costs":     {args: "./internal/bench -whole"},
	"import":    {args: "./jobs/imports -run OfThePage", module: "field"},
	"picture":   {args: "./internal/bench -run Picture"},
	"scheduled": {args: "./jobs/timetable -run OfThePage", module: "field"},
	"swarm":     {args: "./scenarios -run ToldAsShortly"},

	"explorer": {args: explorer + "Table|Rarely|OnThePageIs|NeedAnInterleaving"},
	"more":     {args: explorer + "MoreThan"},
	"readers":  {args: explorer + "ReadersAndWritersNever"},
	"three":    {args: explorer + "Three -timeout 1h"},
	// On one processor: a waiter and its subscription are two goroutines, and on two
	// processors it is chance which of them sees first that the waiter has left.
	"waits":           {args: explorer + "WakeUp -cpu 1"},
	"waiting-mutants": {args: explorer + "MutantsOfWaiting"},
}

const explorer = "./scenarios/explore/explorer -all -run "

// Names are the tests' names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(tests)) }

// Run runs the tests of that name, which write what they make into the files below docs.
// It says on output what the tests say. When a test fails, what other tests of that name
// have made may be written already.
func Run(ctx context.Context, root, name string, output io.Writer) error {
	t := tests[name]
	dir := filepath.Join(root, t.module)
	// A slow machine takes longer than go test's ten minutes for the largest.
	args := slices.Concat([]string{"test", "-count=1", "-timeout=3h"},
		strings.Fields(t.args), []string{"-update"})
	fmt.Fprintf(output, "cd %s && go %s\n", dir, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make the parts by %s: %w", name, err)
	}
	return nil
}
