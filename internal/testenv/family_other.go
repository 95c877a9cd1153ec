//go:build !linux

package testenv

import "syscall"

// endWithParent cannot be had here: a test that is killed leaves its server.
func endWithParent(*syscall.SysProcAttr) {}

const stopped, gone = "", ""

// inState cannot be asked here: a signal is taken to have arrived when it was
// sent.
func inState(int, string) error { return nil }

// children cannot be found here: a server with several processes is neither
// paused nor killed as a whole.
func children(int) []int { return nil }
