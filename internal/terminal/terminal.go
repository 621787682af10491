// Package terminal is what the commands share: they read flags, break lines, and say what
// is near a wrong name.
package terminal

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// Parse reads flags. It answers -help with the usage and the flags, and returns flag.ErrHelp.
// Its other errors say what would be right.
func Parse(flags *flag.FlagSet, args []string, usage string, out io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		help(out, flags)
	} else if err != nil {
		return rightly(flags, err)
	}
	return err
}

// The exit statuses of all commands.
const (
	OK          = 0   // nothing was found, and all was done
	Failed      = 1   // a flaw was found, or something can't be done
	Usage       = 2   // the arguments were not understood
	Interrupted = 130 // as in shells
)

// Refused says what is wrong with a command's arguments, unless Parse has answered -help. It
// returns the exit status.
func Refused(log io.Writer, command string, err error) (status int) {
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	Say(log, "%s: %v (-help lists the flags)", command, err)
	return Usage
}

// Wrong is an error if something is so, and nil otherwise. With cmp.Or, several of them are the
// first thing that is wrong.
func Wrong(so bool, format string, args ...any) error {
	if so {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// unread is what the flag package says of a value or a name that it can't read.
var unread = regexp.MustCompile(`^(invalid value .* for flag -(\S+): )parse error$|^flag provided .*: -(\S+)$`)

// rightly adds to such an error what would be right.
func rightly(flags *flag.FlagSet, err error) error {
	parts, names := unread.FindStringSubmatch(err.Error()), []string(nil)
	if parts == nil {
		return err
	}
	if parts[2] == "" {
		flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if near := near(parts[3], names); len(near) > 0 {
			return fmt.Errorf("%w, did you mean -%s?", err, strings.Join(near, ", -"))
		}
		return err
	}
	form := "a whole number, such as 4"
	if value, ok := flags.Lookup(parts[2]).Value.(flag.Getter); ok {
		if _, is := value.Get().(time.Duration); is {
			form = "a duration, such as 20s or 20ms"
		}
	}
	return errors.New(parts[1] + "it must be " + form)
}

// help prints the flags of a command in lines of 80 columns.
func help(out io.Writer, flags *flag.FlagSet) {
	var b strings.Builder
	flags.SetOutput(&b)
	flags.PrintDefaults()
	for entry := range strings.SplitSeq(strings.TrimPrefix(b.String(), "  -"), "\n  -") {
		name, text, _ := strings.Cut(entry, "\n")
		fmt.Fprintf(out, "  -%s\n    \t%s\n", name, strings.Join(Wrap(text, 72, 0), "\n    \t"))
	}
}

// Columns is how wide a timeline is: with the indent of go test, of a subtest's output,
// it fits into a terminal of 80.
const Columns = 68

// Wrap breaks a text into lines of so many columns, all but the first of which begin
// with an indent. A word that is longer than a line is cut.
func Wrap(text string, columns, indent int) (lines []string) {
	var line []rune
	for _, word := range strings.Fields(text) {
		rest := []rune(word)
		if len(line) > 0 && len(line)+1+len(rest) > columns {
			lines, line = append(lines, string(line)), nil
		} else if len(line) > 0 {
			line = append(line, ' ')
		}
		if line == nil && len(lines) > 0 {
			line = []rune(strings.Repeat(" ", indent))
		}
		for room := columns - len(line); len(rest) > room; room = columns - indent {
			lines = append(lines, string(append(line, rest[:room]...)))
			line, rest = []rune(strings.Repeat(" ", indent)), rest[room:]
		}
		line = append(line, rest...)
	}
	return append(lines, string(line))
}

// Paragraph is a text in lines of 80 columns.
func Paragraph(text string) string { return strings.Join(Wrap(text, 79, 0), "\n") + "\n" }

// ours begins the names of keys on servers that others use too.
var ours = regexp.MustCompile(`lockladder:(\w+:)+`)

// Keys is a text without what begins such names, which tells a reader nothing.
func Keys(text string) string { return ours.ReplaceAllString(text, "") }

// Unknown is the error of a name that none of some things has. It says which names are near, or
// lists all where they are few.
func Unknown(thing, name string, all []string) error {
	if near := near(name, all); len(near) > 0 {
		return fmt.Errorf("there is no %s %q, did you mean %s?", thing, name, strings.Join(near, ", "))
	} else if len(all) <= 25 {
		return fmt.Errorf("there is no %s %q, the %ss are %s", thing, name, thing, strings.Join(all, ", "))
	}
	return fmt.Errorf("there is no %s %q", thing, name)
}

// near are up to three of the names that are near a wrong one: one letter in three differs, a
// part of the name was typed, or two letters stand in the wrong order, which counts as one.
func near(wrong string, names []string) []string {
	far, wrong := map[string]int{}, strings.ToLower(wrong)
	for _, name := range names {
		if wrong == "" || !strings.Contains(name, wrong) {
			far[name] = levenshtein.ComputeDistance(wrong, name)
		}
		for i := 1; i < len(wrong); i++ {
			meant := wrong[:i-1] + wrong[i:i+1] + wrong[i-1:i] + wrong[i+1:]
			far[name] = min(far[name], 1+levenshtein.ComputeDistance(meant, name))
		}
	}
	close := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return far[name]*3 > len(wrong)
	})
	slices.SortStableFunc(close, func(a, b string) int { return far[a] - far[b] })
	return close[:min(3, len(close))]
}
