package cohort

import "github.com/lockladder/lockladder/reentrant/internal/waiters"

// InUse counts the cohorts and the subscriptions of all rdb values.
func InUse() (inUse, listening int) {
	cohorts.Lock()
	defer cohorts.Unlock()
	return len(cohorts.of), waiters.Listening()
}
