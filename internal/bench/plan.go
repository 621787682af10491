package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Run is what the program is asked for.
type Run struct {
	Given    map[string]bool // the flags that the user has given
	Real     bool            // the servers are real ones
	Subjects []Subject       // the rows
	Width    int             // columns of the reader's terminal, 0 when unknown

	// These are not known yet when the run is planned.
	Servers *Servers
	Table   int // which of the plan's
}

// Plan is what a program needs to know of a run, and prints.
type Plan struct {
	Config  Config // how the clients reach the servers
	TTL     time.Duration
	Timeout time.Duration // of a row
	Seed    uint64        // 0 is none

	Header string // says what is done
	Layout Layout
	Empty  Row      // has the figures of the rows, and no values
	Tables []string // a table's title each, "" for the only one

	// Late makes more rows when the servers are there, of which it needs so many; nil
	// when there are none.
	Late  func(context.Context, *Servers) ([]Subject, error)
	Nodes int

	// Findings are what a run says, for the end: sentences, and tables. Nil when it says
	// nothing.
	Findings func(Report) []string

	// Progress continues the name of the subject that is measured with how far
	// it is. Any goroutine may call it.
	Progress func() string

	Outputs []Output
}

// Output is a file that a run can be written to, besides its JSON.
type Output struct {
	Flag  string
	File  *string // "" is none
	Write func(Report, io.Writer) error
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
