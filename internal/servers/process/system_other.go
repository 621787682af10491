//go:build !unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// Detach does nothing here.
func Detach(*exec.Cmd) {}

// Kill ends a process.
func Kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Offspring says no here, where it isn't known.
func Offspring(int) bool { return false }

// Running says yes here, where it isn't known.
func Running(int) bool { return true }

// State is not known here.
func State(int) byte { return 0 }

// Time is not known here.
func Time() time.Duration { return 0 }

// Pause and Resume fail here.
func Pause(int) error  { return errors.ErrUnsupported }
func Resume(int) error { return errors.ErrUnsupported }
