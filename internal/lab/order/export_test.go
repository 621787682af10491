package order

import "time"

// Watch sets how often worlds are looked at and when they may count as stuck,
// and returns a function that sets it back.
func Watch(every, after time.Duration) (restore func()) {
	e, p := lookEvery, patience
	lookEvery, patience = every, after
	return func() { lookEvery, patience = e, p }
}
