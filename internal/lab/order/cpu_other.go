//go:build !unix

package order

import "time"

// began stands in for the start of the process's processor time.
var began = time.Now()

// processTime is at most the time since the process began.
func processTime() time.Duration { return time.Since(began) }
