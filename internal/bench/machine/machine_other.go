//go:build !linux

package machine

// OnlyCPU is not known here.
func OnlyCPU() (cpu int, is bool) { return 0, false }

// Processor is the name of the CPU, "" when unknown.
func Processor() string { return "" }
