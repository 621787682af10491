//go:build !linux

package machine

import "time"

// WakeExactly does nothing here.
func WakeExactly() {}

// Nap sleeps.
func Nap(d time.Duration) { time.Sleep(d) }

// OnlyCPU is not known here.
func OnlyCPU() (cpu int, is bool) { return 0, false }

// Processor is the name of the CPU, "" when unknown.
func Processor() string { return "" }
