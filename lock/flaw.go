package lock

import (
	"strings"
)

// SecondKey names another key of the lock at key so that Redis Cluster keeps both
// in one slot. A key which has a hash tag keeps it; another becomes the tag. Two
// keys never share a second one, so "{stock}" gets two colons: with one its
// counter would be that of "stock". Of a key with a stray brace, such as "a}b",
// no second key can be in the slot.
func SecondKey(key, what string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 &&
		strings.IndexByte(key[open+1:], '}') > 0 {
		return key + "::" + what
	}
	return "{" + key + "}:" + what
}

// Flaw names what a lock is known to break: an invariant of a scenario.
type Flaw struct {
	Scenario  string // as in the catalogue: "overrun_release"
	Invariant string // "foreign release"
}

// Flaws lists what a scenario's invariants are broken by: "slow_get: foreign
// release" is one entry, and several invariants are separated by commas.
func Flaws(entries ...string) []Flaw {
	var flaws []Flaw
	for _, entry := range entries {
		scenario, invariants, _ := strings.Cut(entry, ": ")
		for _, invariant := range strings.Split(invariants, ", ") {
			flaws = append(flaws, Flaw{scenario, invariant})
		}
	}
	return flaws
}
