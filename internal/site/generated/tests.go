package generated

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Test makes parts of a page in a run of a package's tests: because it takes
// minutes, because it needs servers, or because the tests have what it takes.
type Test struct {
	Name   string   // what go run ./docs -generate calls it
	Page   string   // its file below docs, or a pattern of files
	Parts  []string // their names, or what stands before the last word; none: all
	Module string   // the module's directory, "" for the root
	Args   string   // those of go test

	// Results are the parts that are made from docs/results/NAME.json, which the
	// tests make.
	Results []string
}

// Tests are all of them. Every other part is made by go run ./docs -generate.
var Tests = []Test{
	{Name: "mysql", Page: "alternatives.md", Results: []string{"mysql"},
		Module: "field", Args: "./mysql"},
	{Name: "zookeeper", Page: "alternatives.md", Results: []string{"zookeeper"},
		Module: "field", Args: "./zookeeper"},
	{Name: "etcd", Page: "alternatives.md", Results: []string{"etcd"},
		Module: "field", Args: "./etcd"},
	{Name: "costs", Page: "benchmark.md", Parts: []string{"growth", "costs of"},
		Args: "./internal/bench -whole"},
	{Name: "costs", Page: "choosing.md", Parts: []string{"processes"},
		Args: "./internal/bench -whole"},
	{Name: "picture", Page: "benchmark-*.svg", Args: "./internal/bench -run Picture"},
	{Name: "cache", Page: "cache.md", Parts: []string{"mutex", "locks"},
		Args: "./internal/bench/jobs -run CacheTablesOfThePage"},
	{Name: "explorer", Page: "explorer.md", Parts: []string{"report", "timeline",
		"verdicts", "rows", "share", "own", "mutants"}, Args: "./scenarios/explore/explorer" +
		" -run Table|Rarely|OnThePageIs|NeedAnInterleaving -all"},
	{Name: "three", Page: "explorer.md", Parts: []string{"three"},
		Args: "./scenarios/explore/explorer -run Three -timeout 1h -all"},
	{Name: "readers", Page: "explorer.md", Parts: []string{"readers"},
		Args: "./scenarios/explore/explorer -run ReadersAndWritersNever -all"},
	// On one processor: a waiter and its subscription are two goroutines, and on two
	// processors it is chance which of them sees first that the waiter has left.
	{Name: "waits", Page: "explorer.md", Parts: []string{"waits"},
		Args: "./scenarios/explore/explorer -run WakeUp -all -cpu 1"},
	{Name: "waiting-mutants", Page: "explorer.md",
		Parts: []string{"waiting mutants"},
		Args:  "./scenarios/explore/explorer -run MutantsOfWaiting -all"},
	{Name: "import", Page: "import.md", Parts: []string{"article", "scan",
		"improved", "throughput"},
		Args: "./internal/bench/jobs/imports -run OfThePage -whole"},
	{Name: "libraries", Page: "libraries.md", Parts: []string{"versions"},
		Results: []string{"matrix"}, Module: "field", Args: "./libraries"},
	{Name: "programs", Page: "libraries.md", Parts: []string{"programs"},
		Results: []string{"other languages"}, Module: "field",
		Args: "./programs -redis auto -timeout 60m"},
	{Name: "costs", Page: "polling.md", Parts: []string{"curve", "lockstep",
		"pool", "loop"}, Args: "./internal/bench -whole"},
	{Name: "swarm", Page: "swarm.md", Parts: []string{"found", "story"},
		Args: "./scenarios -run RandomWorld"},
	{Name: "scheduled", Page: "scheduled.md", Parts: []string{"rungs"},
		Args: "./internal/bench/jobs -run TimetableOfThePage"},
}

// Command is what a reader types to see the tests pass.
func (test Test) Command() string {
	if test.Module != "" {
		return "cd " + test.Module + " && go test " + test.Args
	}
	return "go test " + test.Args
}

// Names are the tests' names, sorted.
func Names() []string {
	var names []string
	for _, test := range Tests {
		names = append(names, test.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find is the test that makes a part; part "" is a file as a whole.
func Find(page, part string) (Test, bool) {
	i := slices.IndexFunc(Tests, func(test Test) bool {
		is, _ := path.Match(test.Page, page)
		whole := len(test.Parts) == 0 && len(test.Results) == 0
		return is && (part == "" && whole || slices.ContainsFunc(test.Parts,
			func(name string) bool { return covers(name, part) }))
	})
	if i < 0 {
		return Test{}, false
	}
	return Tests[i], true
}

func covers(name, part string) bool {
	return part == name || strings.HasPrefix(part, name+" ")
}

// Results is the file below docs with what the locks of a test did.
func Results(name string) string { return "results/" + name + ".json" }

// Run runs the tests of that name, which write what they make into the files below docs.
// It says on output what the tests say. When a test fails, what other tests of that name
// have made may be written already.
func Run(ctx context.Context, root, name string, output io.Writer) error {
	test := Tests[slices.IndexFunc(Tests, func(test Test) bool { return test.Name == name })]
	fmt.Fprintln(output, test.Command(), "-update")
	// A slow machine takes longer than go test's ten minutes for the largest.
	args := slices.Concat([]string{"test", "-count=1", "-timeout=1h"},
		strings.Fields(test.Args), []string{"-update"})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, test.Module)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s -update: %w", test.Command(), err)
	}
	return nil
}
