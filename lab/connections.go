package lab

import (
	"cmp"
	"errors"
	"io"
	"sync"
)

// atOnce takes so many connections at the same time, and then lets them all go:
// the pool keeps them.
func atOnce(connections int, open func() (io.Closer, error)) error {
	conns := make([]io.Closer, connections)
	errs := make([]error, connections)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { conns[i], errs[i] = open() })
	}
	all.Wait()
	for i, conn := range conns {
		if conn != nil {
			errs[i] = errors.Join(errs[i], conn.Close())
		}
	}
	return cmp.Or(errs...)
}
