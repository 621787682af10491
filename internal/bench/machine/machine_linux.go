// Package machine asks the operating system what Go has no words for: CPUs, exact
// waiting, and what a process has used.
package machine

import (
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// WakeExactly lets the kernel wake this thread at the moment that it asked for,
// not up to 50 µs later.
func WakeExactly() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// Nap sleeps on this thread.
func Nap(d time.Duration) {
	if d <= 0 {
		return
	}
	left := unix.NsecToTimespec(int64(d))
	for errors.Is(unix.Nanosleep(&left, &left), unix.EINTR) {
	}
}

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
