package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// prefix begins the names of all directories of this package.
const prefix = "lockladder-"

// sweep removes what processes left behind that are gone, together with the
// shells that should have cleaned up after them.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range left {
		sweepDir(dir)
	}
}

// sweepDir removes one directory if its owner is gone. Without an owner it is being
// made just now, removed, or not of this package.
func sweepDir(dir string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	owner, err := numberIn(dir, "owner")
	if err != nil || process.Running(owner) {
		return
	}
	server, err := numberIn(dir, "pid")
	// The number may belong to another program by now.
	if err == nil && commandOf(server, dir) {
		if found, _ := os.FindProcess(server); found != nil {
			found.Kill()
		}
	}
	os.RemoveAll(dir)
}

// numberIn is the number that a file of a server's directory has.
func numberIn(dir, name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, fmt.Errorf("look for a server's process: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// commandOf says whether a process was started with a directory among its arguments:
// as one of them, behind an option's equals sign, or as the beginning of a path. A
// longer name that only begins the same way is another directory's.
func commandOf(pid int, dir string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "args=", "-p",
		strconv.Itoa(pid)).Output()
	named := regexp.MustCompile(`(?m)(^|[ =])` + regexp.QuoteMeta(dir) + `($|[ /])`)
	return err == nil && named.Match(out)
}
