// Package machine asks the operating system what Go has no words for: CPUs, and what a
// process has used.
package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Pin moves this process and the others to one CPU, the last of those that this
// process may use, and lets the Go runtime run so many threads at a time. One is
// steadier; a slower network needs two, because the runtime takes its time to
// notice that its only thread is asleep. undo moves this process back.
func Pin(threads int, pids ...int) (cpu int, undo func(), err error) {
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return 0, nil, fmt.Errorf("ask for the CPUs of this process: %w", err)
	}
	for i := range 64 * len(before) {
		if before.IsSet(i) {
			cpu = i
		}
	}
	one.Set(cpu)
	usual := runtime.GOMAXPROCS(threads)
	undo = func() {
		runtime.GOMAXPROCS(usual)
		_ = move(os.Getpid(), &before)
	}
	for _, pid := range append([]int{os.Getpid()}, pids...) {
		if err := move(pid, &one); err != nil {
			undo()
			return 0, nil, fmt.Errorf("pin process %d to CPU %d: %w", pid, cpu,
				err)
		}
	}
	return cpu, undo, nil
}

// move sets the CPUs of all threads of a process. A thread that is born meanwhile
// may have its CPUs from one that was not moved yet: a second look finds it.
func move(pid int, cpus *unix.CPUSet) error {
	moved := map[int]bool{}
	for {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil || len(tasks) == 0 {
			return errors.New("there is no such process on this machine")
		}
		fresh := false
		for _, task := range tasks {
			tid, err := strconv.Atoi(filepath.Base(task))
			if err != nil || moved[tid] {
				continue
			}
			err = unix.SchedSetaffinity(tid, cpus)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			moved[tid], fresh = true, true
		}
		if !fresh {
			return nil
		}
	}
}

// IsRedis says whether a process of this machine is a Redis server.
func IsRedis(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && (strings.Contains(string(name), "redis") ||
		strings.Contains(string(name), "valkey") ||
		strings.Contains(string(name), "keydb") ||
		strings.Contains(string(name), "dragonfly"))
}

// Processor is the name of the CPU, "" when unknown.
func Processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
