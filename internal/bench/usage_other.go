//go:build !unix

package bench

import "time"

// processTime is the processor time that this process has used, 0 when unknown.
func processTime() time.Duration { return 0 }

// peakMemory is the most memory that this process has had, in bytes, 0 when
// unknown.
func peakMemory() int64 { return 0 }
