package order

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Nobody in a bubble holds a mutex while virtual time goes by, but for a lock that calls
// Redis with one.
func TestALockThatWaitsForAMutexIsStuck(t *testing.T) {
	q := quiet{since: processTime()}
	var err error
	for range 4 {
		if err == nil {
			err = q.look(func() []goroutine {
				return []goroutine{{"sync.Mutex.Lock", "goroutine 19 [sync.Mutex.Lock," +
					" synctest bubble 7]:\nexample.com/my/lock.(*Lock).Unlock(0x0?)"}}
			})
		}
	}
	assert.ErrorIs(t, err, ErrStuck)
}
