package command

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// onlyCPU is the CPU that this process has to itself, and the processes that it
// starts with it, if there is one: taskset -c 0 gives it number 0.
func onlyCPU() (cpu int, is bool) {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil || may.Count() != 1 {
		return 0, false
	}
	for !may.IsSet(cpu) {
		cpu++
	}
	return cpu, true
}

// processor is the name of the CPU, "" when unknown.
func processor() string {
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
