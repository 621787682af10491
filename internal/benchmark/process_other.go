//go:build !linux

package benchmark

import (
	"errors"
	"time"
)

func wakeExactly() {}

func nap(d time.Duration) { time.Sleep(d) }

// Pin is possible on Linux only.
func Pin(int, ...int) (cpu int, undo func(), err error) {
	return 0, nil, errors.New("to pin a process to a CPU needs Linux")
}

func isRedis(int) bool { return false }

// Processor is the name of the CPU, "" when unknown.
func Processor() string { return "" }
