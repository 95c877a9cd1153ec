package binary

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end the process when the test ends, whatever
// becomes of the test (prctl(2), PR_SET_PDEATHSIG).
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
