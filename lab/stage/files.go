package stage

import (
	"fmt"
	"syscall"
)

// enoughFiles says whether the sellers and the servers that are started may have
// so many connections open: each is a file, for the three Redis of Redlock three.
func enoughFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // nobody knows: it will be seen
	}
	if need := uint64(3*connections + 2*spare); limit.Max < need {
		return fmt.Errorf("a process may have %d files open here, and --connections %d needs %d: ask for fewer, or raise the limit (ulimit -n)",
			limit.Max, connections, need)
	}
	return nil
}
