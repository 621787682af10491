//go:build !unix

package main

import "time"

// clock is the time in nanoseconds. Without processes that can be stopped there are
// no soaks here, only the judge's tests.
func clock() int64 { return time.Now().UnixNano() }
