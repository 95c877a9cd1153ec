package testenv

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// endWithParent makes the kernel end the process when the test ends, whatever
// becomes of the test (prctl(2), PR_SET_PDEATHSIG).
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// The states of a process that are waited for (proc(5), /proc/PID/stat). No
// state at all means that the process is not in the list any more.
const (
	stopped = "Tt"
	gone    = "ZX"
)

// inState is an error as long as a process is in none of these states. A
// process that is not in the list is gone.
func inState(pid int, states string) error {
	state, _, ok := stat(pid)
	if !ok && strings.Contains(states, gone) || ok && strings.Contains(states, state) {
		return nil
	}
	return fmt.Errorf("process %d is in state %q, want one of %q", pid, state, states)
}

// children returns the processes that a process has started itself. A process
// group does not tell: PostgreSQL gives each of its children a session of its
// own.
func children(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, ppid, ok := stat(pid); ok && ppid == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat returns the state and the parent of a process.
func stat(pid int) (state string, parent int, ok bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, false
	}
	// The second field is the program's name, in which anything may stand.
	fields := strings.Fields(string(line[strings.LastIndexByte(string(line), ')')+1:]))
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0], parent, err == nil
}
