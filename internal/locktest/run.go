package locktest

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// CollectLess has a test's process collect garbage less often. A script on the
// virtual server takes an interpreter of its own, and a quarter of the time went
// into collecting them. A user who sets GOGC has decided otherwise.
func CollectLess() {
	process.CollectLater(1000, 0)
}

// OneProcessor has a test's process keep to one processor: in a scenario one
// thing happens at a time, and a second processor is busy with looking for
// work, which takes a quarter of the time from the tests of another package.
// A user who sets GOMAXPROCS or -cpu has decided otherwise, and the race detector
// is to see what happens at the same time.
func OneProcessor() {
	if cpu := flag.Lookup("test.cpu"); os.Getenv("GOMAXPROCS") == "" && !Race &&
		(cpu == nil || cpu.Value.String() == "") {
		runtime.GOMAXPROCS(1)
	}
}

// Main is what a TestMain calls whose tests take little of the machine.
func Main(m *testing.M) {
	CollectLess()
	OneProcessor()
	os.Exit(m.Run())
}

// WhenNamed skips a test that looks at all rungs once more, and that a step of .ci/run
// names, unless -run names tests. How says what it takes and how it is run.
func WhenNamed(t *testing.T, how string) {
	t.Helper()
	if named() == "" {
		t.Skip(how)
	}
}

// Long skips a test in a short run: why says what takes so long.
func Long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// named is what -run names.
func named() string { return flag.Lookup("test.run").Value.String() }
