package recording

import "encoding/json"

// Texts gives each text an index, in the order in which they come. The first one is
// empty.
type Texts struct {
	All   []string
	known map[string]int
}

// NewTexts has the empty text.
func NewTexts() *Texts {
	return &Texts{All: []string{""}, known: map[string]int{"": 0}}
}

// Index is where a text is; it is added if it is new.
func (t *Texts) Index(text string) int {
	i, ok := t.known[text]
	if !ok {
		i = len(t.All)
		t.known[text] = i
		t.All = append(t.All, text)
	}
	return i
}

// States gives each state an index, in the order in which they come.
type States struct {
	All   []State
	known map[string]int
}

// Index is where a state is; it is added if it is new.
func (t *States) Index(s State) int {
	key, err := json.Marshal(s)
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
		t.All = append(t.All, s)
	}
	return i
}
