package bench

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Run is what the program is asked for.
type Run struct {
	Given    map[string]bool // the flags that the user has given
	Real     bool            // the servers are real ones
	Subjects []Subject       // the rows
}

// Plan is what a program needs to know of a run, and prints.
type Plan struct {
	Config Config // how the clients reach the servers
	Header string // says what is done
	Layout Layout
	Tables []Table
	Nodes  int // servers that rows need which Late makes
}

// Table is one of a run's tables. Its runner is not told the servers yet.
type Table struct {
	Title string // "" for the only one
	*Runner
}

// List understands the values of a flag that are separated by commas.
func List[T any](into *[]T, one func(string) (T, error)) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			value, err := one(strings.TrimSpace(word))
			if _, is := errors.AsType[*strconv.NumError](err); is {
				return fmt.Errorf("%q is no number", word)
			}
			if err != nil {
				return err
			}
			*into = append(*into, value)
		}
		return nil
	}
}
