//go:build !unix

package benchmark

import "time"

func processTime() time.Duration { return 0 }

// PeakMemory is the most memory that this process has had, in bytes, 0 when
// unknown.
func PeakMemory() int64 { return 0 }
