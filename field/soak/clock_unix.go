//go:build unix

package main

import "golang.org/x/sys/unix"

// clock is the time in nanoseconds by the machine's monotonic clock. All processes
// of a machine share it, and unlike the wall clock nobody sets it.
func clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("the machine has no monotonic clock: " + err.Error())
	}
	return t.Nano()
}
