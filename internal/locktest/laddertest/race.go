//go:build race

package laddertest

// Race says whether the race detector watches.
const Race = true
