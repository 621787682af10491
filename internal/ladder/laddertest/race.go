//go:build race

package laddertest

// race says whether the race detector watches.
const race = true
