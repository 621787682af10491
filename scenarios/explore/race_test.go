//go:build race

package explore

// race says whether the race detector watches.
const race = true
