package process

import (
	"os/exec"
	"syscall"
)

// endWithParent has the system kill a process when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
