package history

import "fmt"

// Storage is what the lock protects: one number. It checks fencing tokens where
// the holder has one, and refuses an older token than it has seen.
type Storage struct {
	log     *Log
	value   int
	version int
	highest uint64
	newest  int // the newest acquisition that has touched it
}

// Storage makes a storage with a first value.
func (l *Log) Storage(value int) *Storage {
	l.storage = &Storage{log: l, value: value}
	return l.storage
}

// Version is the version of the value.
func (s *Storage) Version() int { return s.version }

// admit checks a token; 0 means that the lock offers none.
func (s *Storage) admit(token uint64) bool {
	if token != 0 && token < s.highest {
		return false
	}
	s.highest = max(s.highest, token)
	return true
}

// Read returns the value and its version. It is false when the token was old.
func (s *Storage) Read(h *Holding, token uint64) (value, version int, ok bool) {
	ok = s.admit(token)
	s.note(h, token, "reads the storage", ok, s.value)
	if ok {
		s.newest = max(s.newest, h.Number)
	}
	return s.value, s.version, ok
}

// Write changes the value, which the holder had read in the given version. It is
// false when the token was old.
func (s *Storage) Write(h *Holding, token uint64, value, version int) bool {
	if !s.admit(token) {
		s.note(h, token, "writes to the storage", false, value)
		return false
	}
	s.judgeWrite(h, value, version)
	s.value = value
	s.version++
	s.newest = max(s.newest, h.Number)
	s.note(h, token, "writes to the storage", true, value)
	return true
}

// Snapshot is all that the storage's answers depend on.
func (s *Storage) Snapshot() string {
	return fmt.Sprintf("storage %d %d %d %d", s.value, s.version, s.highest, s.newest)
}

func (s *Storage) note(h *Holding, token uint64, what string, ok bool, value int) {
	text := fmt.Sprintf("%s: %d", what, value)
	if token != 0 {
		text += fmt.Sprintf(", token %d", token)
	}
	if !ok {
		text += ", refused"
	}
	s.log.Note(h.Client, "%s", text)
}
