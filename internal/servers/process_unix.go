//go:build unix

package servers

import (
	"errors"
	"os/exec"
	"syscall"
)

// Detach puts a server into a process group of its own: Ctrl-C is for the
// process that started it, which then takes it down in order.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// running says whether a process exists.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func killProcess(pid int) error   { return syscall.Kill(pid, syscall.SIGKILL) }
func pauseProcess(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resumeProcess(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
