package waiters

import "time"

// TurnOf is how long a turn is kept for a waiter that does not come for it.
func TurnOf(lease time.Duration) time.Duration {
	return max(lease/20, time.Millisecond)
}

// roundTrips is how many of its own round trips a turn is kept for a waiter at
// least. The message must reach it, and its question the server. If it does not
// listen yet, it has to be refused, to connect and to subscribe before.
const roundTrips = 5

// Turn is how long the server is to keep a turn for an owner whose round trip
// takes so long. A third of a lease is the most: so much do the others lose
// when its process is dead.
func Turn(lease, roundTrip time.Duration) time.Duration {
	return max(min(roundTrips*roundTrip, lease/3), TurnOf(lease))
}
