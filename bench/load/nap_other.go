//go:build !linux

package load

import "time"

// nap sleeps for d.
func nap(d time.Duration) { time.Sleep(d) }
