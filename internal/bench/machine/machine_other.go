//go:build !linux

package machine

import "errors"

// Pin is possible on Linux only.
func Pin(int, ...int) (cpu int, undo func(), err error) {
	return 0, nil, errors.New("to pin a process to a CPU needs Linux")
}

// IsRedis is not known here.
func IsRedis(int) bool { return false }

// Processor is the name of the CPU, "" when unknown.
func Processor() string { return "" }
