package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// descriptor returns the file descriptor of w if it is a terminal.
func descriptor(w io.Writer) (fd int, is bool) {
	if file, is := w.(*os.File); is {
		return int(file.Fd()), term.IsTerminal(int(file.Fd()))
	}
	return 0, false
}

// Width is how many columns w has: a terminal's, or else what the variable COLUMNS says, or 0.
func Width(w io.Writer) (columns int) {
	if fd, is := descriptor(w); is {
		columns, _, _ = term.GetSize(fd)
	}
	if columns <= 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	return max(columns, 0)
}

// Step is a line about what has ended, where Progress shows nothing: w is no terminal.
func Step(w io.Writer, text string) {
	if _, is := descriptor(w); !is {
		fmt.Fprintln(w, text)
	}
}

// Say prints a message: on one line, or in a terminal each of its clauses on lines of its own.
func Say(w io.Writer, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	if _, is := descriptor(w); is {
		var lines []string
		for clause := range strings.SplitSeq(text, "; ") {
			lines = append(lines, Wrap(clause, 77, 0)...)
		}
		text = strings.Join(lines, "\n  ")
	}
	fmt.Fprintln(w, text)
}

// Progress keeps a line up to date, if w is a terminal, until stop, which returns when it is gone
// and may be called again. What doesn't fit into 79 columns is cut.
func Progress(w io.Writer, now func() string) (stop func()) {
	if _, is := descriptor(w); !is {
		return func() {}
	}
	quit, done, most := make(chan struct{}), make(chan struct{}), min(cmp.Or(Width(w), 80), 80)-1
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		shown := 0
		for {
			text := []rune(now())
			text = text[:min(len(text), most)]
			fmt.Fprintf(w, "\r%-*s", shown, string(text))
			shown = max(shown, len(text))
			select {
			case <-tick.C:
			case <-quit:
				// Spaces, because not every console knows escape codes; two are for ^C.
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", min(shown+2, most)))
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}

// What is shown in color: verdicts in a table, in an explorer's report, in a sentence, and the mark
// of a break in a timeline.
var (
	good = regexp.MustCompile(`(?m)✓|  holds$|holds: exhausted|none of them breaks it$|` +
		`^nothing is broken$|: held,|^Challenge \d+ passed`)
	bad = regexp.MustCompile(`(?m)✗|  breaks$|breaks: adversary|\^\^\^ [^:\n]+:?|\bVIOLATED\b|` +
		`^not declared:|^no verdict:|isn't passed yet`)
)

// Colored is w, on which good is green and bad is red if it's a terminal that has colors and the
// variable NO_COLOR is empty. Each Write must be of whole lines.
func Colored(w io.Writer) io.Writer {
	if _, is := descriptor(w); !is || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" ||
		os.Getenv("TERM")+os.Getenv("WT_SESSION") == "" { // an old console of Windows
		return w
	}
	return painter{w}
}

type painter struct{ io.Writer }

func (p painter) Write(text []byte) (int, error) {
	painted := bad.ReplaceAll(good.ReplaceAll(text, []byte("\x1b[32m$0\x1b[0m")), []byte("\x1b[31m$0\x1b[0m"))
	if _, err := p.Writer.Write(painted); err != nil {
		return 0, err
	}
	return len(text), nil
}
