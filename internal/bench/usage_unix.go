//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
)

// processTime is the processor time that this process has used, 0 when unknown.
func processTime() time.Duration {
	r := usage()
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peakMemory is the most memory that this process has had, in bytes, 0 when
// unknown.
func peakMemory() int64 {
	r := usage()
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}

// usage is what this process has used, zeroes when unknown.
func usage() (r syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r
}
