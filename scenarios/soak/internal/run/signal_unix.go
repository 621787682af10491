//go:build unix

package run

import "syscall"

func signalStop(pid int) error     { return syscall.Kill(pid, syscall.SIGSTOP) }
func signalContinue(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
func signalKill(pid int) error     { return syscall.Kill(pid, syscall.SIGKILL) }

// alive says whether a process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
