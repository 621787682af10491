//go:build !linux

package command

// onlyCPU is not known here.
func onlyCPU() (cpu int, is bool) { return 0, false }

// processor is the name of the CPU, "" when unknown.
func processor() string { return "" }
