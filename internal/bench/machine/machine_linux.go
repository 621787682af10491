// Package machine asks the operating system what Go has no words for: CPUs, and what a
// process has used.
package machine

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OnlyCPU is the CPU that this process has to itself, and the processes that it
// starts with it, if there is one: taskset -c 0 gives it number 0.
func OnlyCPU() (cpu int, is bool) {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil || may.Count() != 1 {
		return 0, false
	}
	for !may.IsSet(cpu) {
		cpu++
	}
	return cpu, true
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
