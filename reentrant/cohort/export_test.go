package cohort

// InUse counts the cohorts and the subscriptions of all rdb values.
func InUse() (inUse, listening int) {
	cohorts.Lock()
	defer cohorts.Unlock()
	subscriptions.Lock()
	defer subscriptions.Unlock()
	return len(cohorts.of), len(subscriptions.of)
}
