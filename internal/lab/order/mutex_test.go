package order

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two walks of a graph wait for each other, in bubbles of their own. On a busy machine
// that takes seconds, and a lock is not to blame.
func TestALockIsNotBlamedForAMutexOfTheExplorer(t *testing.T) {
	stack := func(who string) goroutine {
		return goroutine{"sync.Mutex.Lock", strings.Join([]string{
			"goroutine 19 [sync.Mutex.Lock, synctest bubble 7]:",
			"internal/sync.(*Mutex).Lock(...)", "\t/go/src/internal/sync/mutex.go:70",
			"sync.(*Mutex).Lock(...)", "\t/go/src/sync/mutex.go:46",
			who + "(0x0?)", "\t/some/file.go:5 +0x36",
			"github.com/lockladder/lockladder/scenarios/explore.(*walker).on(0x1)",
			"\t/some/search.go:306 +0x12"}, "\n")}
	}
	const walks = "github.com/lockladder/lockladder/scenarios/explore.(*walker).take"
	assert.False(t, stack(walks).wantsMutex())
	assert.True(t, stack("example.com/my/lock.(*Lock).Unlock").wantsMutex())
	const tested = "github.com/lockladder/lockladder/scenarios/explore.TestALock.func1"
	assert.True(t, stack(tested).wantsMutex())
	looks := func(who string) (err error) {
		q := quiet{since: processTime()}
		for range 4 {
			if err == nil {
				err = q.look(func() []goroutine { return []goroutine{stack(who)} })
			}
		}
		return err
	}
	assert.NoError(t, looks(walks))
	assert.ErrorIs(t, looks("example.com/my/lock.(*Lock).Unlock"), ErrStuck)
}
