//go:build !race

package locktest

// Race says whether the race detector watches.
const Race = false
