package proxy

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// wakeExactly lets the kernel wake this thread at the moment that it asked for,
// not up to 50 µs later.
func wakeExactly() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// nap sleeps on this thread.
func nap(d time.Duration) {
	if d <= 0 {
		return
	}
	left := unix.NsecToTimespec(int64(d))
	for errors.Is(unix.Nanosleep(&left, &left), unix.EINTR) {
	}
}
