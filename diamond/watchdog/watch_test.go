package watchdog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/lock"
)

// A process that was stopped may run before its own timers do. Here they never run.

func TestLostLooksAtTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Watch(time.Second, time.Now(), true, nil)
		l.timer.Stop()
		time.Sleep(time.Second - 1)
		assert.False(t, lock.IsLost(l))
		time.Sleep(time.Nanosecond)
		assert.True(t, lock.IsLost(l))
		l.Stop()
	})
}
