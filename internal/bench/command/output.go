package command

import (
	"fmt"
	"io"
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
