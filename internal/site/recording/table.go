package recording

import "encoding/json"

// Table gives each value an index, in the order in which they come.
type Table[T any] struct {
	All   []T
	known map[string]int
}

// States is the table of a run's or of a graph's states.
type States = Table[State]

// NewTexts is a table of texts, of which the first one is empty.
func NewTexts() *Table[string] {
	return &Table[string]{All: []string{""}, known: map[string]int{`""`: 0}}
}

// Index is where a value is; it is added if it is new.
func (t *Table[T]) Index(value T) int {
	key, err := json.Marshal(value)
	if err != nil {
		panic(err) // it has only what JSON has
	}
	i, ok := t.known[string(key)]
	if !ok {
		if t.known == nil {
			t.known = map[string]int{}
		}
		i = len(t.All)
		t.known[string(key)] = i
		t.All = append(t.All, value)
	}
	return i
}
