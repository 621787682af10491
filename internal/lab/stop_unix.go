//go:build unix

package lab

import (
	"os"
	"syscall"
)

// Both are for the group that the process leads: it may have started others.
func pause(p *os.Process) error  { return syscall.Kill(-p.Pid, syscall.SIGSTOP) }
func resume(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGCONT) }
