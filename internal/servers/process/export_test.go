package process

import "time"

// EndWithin is how long a process may live after its conversation from now on.
func EndWithin(d time.Duration) { endWithin = d }
