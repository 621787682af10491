package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// page is standard output. After its first failure nothing more is written.
type page struct {
	w     io.Writer
	quiet bool // only JSON is wanted
	err   error
}

func (p *page) text(text string) {
	if p.quiet || p.err != nil {
		return
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		p.err = fmt.Errorf("write to standard output: %w", err)
	}
}

// descriptor returns the file descriptor of w if it is a terminal.
func descriptor(w io.Writer) (fd int, is bool) {
	file, is := w.(*os.File)
	if !is {
		return 0, false
	}
	fd = int(file.Fd())
	return fd, term.IsTerminal(fd)
}

// width is how many columns w has, 0 when it is no terminal.
func width(w io.Writer) int {
	fd, is := descriptor(w)
	if !is {
		return 0
	}
	columns, _, _ := term.GetSize(fd) // negative after an error
	return max(columns, 0)
}

// showProgress keeps a line up to date until stop, which returns when it is gone, if w is
// a terminal.
func showProgress(w io.Writer, now func() string) (stop func()) {
	if _, is := descriptor(w); !is {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		shown := 0
		for {
			text := now() // a longer line than the terminal's would stay
			text = text[:min(len(text), cmp.Or(width(w), 80)-1)]
			fmt.Fprintf(w, "\r%-*s", shown, text)
			shown = max(shown, len(text))
			select {
			case <-tick.C:
			case <-quit:
				// Spaces, because not every console knows escape codes.
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", shown))
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
