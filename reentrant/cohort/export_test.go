package cohort

import "github.com/lockladder/lockladder/reentrant/internal/waiters"

// InUse counts the cohorts and the subscriptions of all rdb values.
func InUse() (inUse, listening int) {
	cohorts.Lock()
	defer cohorts.Unlock()
	return len(cohorts.of), waiters.Listening()
}

// The scripts and their keys, for tests of what they leave at the server.
var Acquire, Release = acquire, release

func Keys(key string) []string { return (&Lock{key: key}).keys() }
