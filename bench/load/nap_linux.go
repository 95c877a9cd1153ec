package load

import (
	"syscall"
	"time"
)

// nap sleeps for d with the kernel's timer, which is good to about 60 µs.
// Being woken early by a signal does no harm: the caller looks at the clock.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
