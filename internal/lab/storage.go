package lab

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
)

// Storage is what the lock protects: one number. It checks fencing tokens where
// the holder has one: who comes with an older token than it has seen is refused.
type Storage struct {
	world   *World
	value   int
	version int
	highest uint64
	newest  int // the newest acquisition that has touched it
}

// Storage makes a storage with a first value.
func (w *World) Storage(value int) *Storage {
	return &Storage{world: w, value: value}
}

// Value is what the storage holds.
func (s *Storage) Value() int { return s.value }

// admit checks a token; 0 means that the lock offers none.
func (s *Storage) admit(h *Holding, token uint64) bool {
	if token != 0 && token < s.highest {
		return false
	}
	s.highest = max(s.highest, token)
	return true
}

// Read returns the value and its version. It is false when the token was old.
func (s *Storage) Read(h *Holding, token uint64) (value, version int, ok bool) {
	ok = s.admit(h, token)
	s.note(h, token, "reads the storage", ok, s.value)
	if ok {
		s.newest = max(s.newest, h.Number)
	}
	return s.value, s.version, ok
}

// Write changes the value, which the holder had read in the given version. It is
// false when the token was old. A write that is accepted although a newer holder
// has touched the storage is a stale write; one that is accepted although the
// value has changed since it was read loses an update.
func (s *Storage) Write(h *Holding, token uint64, value, version int) bool {
	if !s.admit(h, token) {
		s.note(h, token, "writes to the storage", false, value)
		return false
	}
	if h.Number < s.newest {
		s.world.report(StaleWrite, "%s's write is accepted, although a later"+
			" holder has touched the storage", h.Owner)
	}
	if version != s.version {
		s.world.report(LostUpdate, "%s writes %d, and what was written since it"+
			" read is lost", h.Owner, value)
	}
	s.value = value
	s.version++
	s.newest = max(s.newest, h.Number)
	s.note(h, token, "writes to the storage", true, value)
	return true
}

// Version is the version of the value.
func (s *Storage) Version() int { return s.version }

func (s *Storage) note(h *Holding, token uint64, what string, ok bool, value int) {
	text := fmt.Sprintf("%s: %d", what, value)
	if token != 0 {
		text += fmt.Sprintf(", token %d", token)
	}
	if !ok {
		text += ", refused"
	}
	h.Client.Note("%s", text)
}

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
