//go:build !unix

package lab

import (
	"errors"
	"os"
	"time"
)

func pause(*os.Process) error  { return errors.ErrUnsupported }
func resume(*os.Process) error { return errors.ErrUnsupported }

// began stands in for the start of the process's processor time.
var began = time.Now()

// processTime is at most the time since the process began.
func processTime() time.Duration { return time.Since(began) }
