//go:build !linux

package proxy

import "time"

func wakeExactly()        {}
func nap(d time.Duration) { time.Sleep(d) }
