package process

import (
	"os"
	"runtime/debug"
)

// CollectLater has the garbage collector come when the heap has grown by so many
// percent, or never when percent is -1, and whenever the process has more memory than so
// many bytes; 0 leaves that limit as it is. The returned function takes both back. Where
// GOGC or GOMEMLIMIT is set, its part stays as the variable says.
func CollectLater(percent int, limit int64) (restore func()) {
	oldPercent, oldLimit := percent, limit
	setPercent := os.Getenv("GOGC") == ""
	setLimit := limit != 0 && os.Getenv("GOMEMLIMIT") == ""
	if setPercent {
		oldPercent = debug.SetGCPercent(percent)
	}
	if setLimit {
		oldLimit = debug.SetMemoryLimit(limit)
	}
	return func() {
		if setPercent {
			debug.SetGCPercent(oldPercent)
		}
		if setLimit {
			debug.SetMemoryLimit(oldLimit)
		}
	}
}
