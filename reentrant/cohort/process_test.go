package cohort_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// The catalogue's clients have one owner each. These scenarios have several
// owners in one process, for what happens between them no server sees.

const (
	ttl    = locktest.Lease
	second = time.Second
	milli  = time.Millisecond
)

var fenced = lock.On(cohort.NewFenced)

// play runs a scenario of processes that have locked before, and then looks for
// what it may have left behind.
func play(t *testing.T, processes string, script func(s *locktest.Scenario)) {
	t.Helper()
	locktest.Run(t, locktest.Config{Build: fenced,
		Processes: strings.Fields(processes)}, script)
	inUse, listening := cohort.InUse()
	assert.Zero(t, inUse, "cohorts are left in the registry")
	assert.Zero(t, listening, "subscriptions are left in the registry")
}

// The ladder's tests have what else New refuses.
func TestNewFencedRefusesWhatNewRefuses(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	_, err := cohort.NewFenced(ring, locktest.Key, ttl)
	assert.ErrorIs(t, err, lock.ErrInvalid)
}

func TestTheWaitersOfAProcess(t *testing.T) {
	locktest.Processes(t, fenced)
}
