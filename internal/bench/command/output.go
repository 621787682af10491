package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// terminal returns the file descriptor of w if it is a terminal.
func terminal(w io.Writer) (fd int, is bool) {
	file, is := w.(*os.File)
	if !is {
		return 0, false
	}
	fd = int(file.Fd())
	return fd, term.IsTerminal(fd)
}

// width is how many columns w has, 0 when it is no terminal.
func width(w io.Writer) int {
	fd, is := terminal(w)
	if !is {
		return 0
	}
	columns, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return columns
}

// showProgress keeps a line up to date until stop, which returns when it is gone, if w is
// a terminal.
func showProgress(w io.Writer, now func() string) (stop func()) {
	if _, is := terminal(w); !is {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		shown := 0
		for {
			text := now()
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

// replace puts what is written in the place of the file at path, or beside it until that
// is complete: after an error the file is what it was. Without a write it only finds out
// whether it could.
func replace(path string, write func(io.Writer) error) error {
	err := replaceAt(path, write)
	// The user has named that file, not the one that stands in for it.
	if named, is := errors.AsType[*fs.PathError](err); is {
		err = named.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceAt(path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a symbolic link stays one
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("it is not a regular file")
		}
		// A file that may not be written must not be replaced either.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		file.Close()
	}
	part, err := os.OpenFile(fmt.Sprintf("%s.%d.part", path, os.Getpid()),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if write != nil {
		err = write(part)
	}
	err = errors.Join(err, part.Close())
	if write != nil && err == nil {
		err = os.Rename(part.Name(), path)
	}
	if write == nil || err != nil {
		os.Remove(part.Name())
	}
	return err
}
