//go:build unix

package machine

import (
	"runtime"
	"syscall"
	"time"
)

// ProcessTime is the processor time that this process has used, 0 when unknown.
func ProcessTime() time.Duration {
	r := usage()
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// PeakMemory is the most memory that this process has had, in bytes, 0 when
// unknown.
func PeakMemory() int64 {
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
