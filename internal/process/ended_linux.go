package process

import (
	"os/exec"
	"syscall"
)

// EndWithParent has the system kill a process when the thread that starts it ends.
func EndWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
