//go:build !unix

package machine

import "time"

// ProcessTime is the processor time that this process has used, 0 when unknown.
func ProcessTime() time.Duration { return 0 }

// PeakMemory is the most memory that this process has had, in bytes, 0 when
// unknown.
func PeakMemory() int64 { return 0 }
