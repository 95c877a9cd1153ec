package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range out of which systems take the ports of
// outgoing connections (Linux: from 32768 on). A client that dials a server
// which is down could otherwise be given the server's own port, and a server
// that comes back find it taken.
const (
	firstPort = 10240
	lastPort  = 32767
)

// freePort returns a TCP port of the loopback address that nobody has at this
// moment. Somebody may take it before the server does: then start again.
func freePort() (int, error) {
	var failures error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", loopback(port))
		if err == nil {
			return port, l.Close()
		}
		failures = err
	}
	return 0, fmt.Errorf("find a free port: %w", failures)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// onFreePort starts something on a free port. Another program may take the port
// between the moment at which it was found free and the one at which the server
// asks for it, so it is tried again with others.
func onFreePort(start func(port int) error) error {
	var failures error
	for range 3 {
		port, err := freePort()
		if err == nil {
			err = start(port)
		}
		if err == nil {
			return nil
		}
		failures = errors.Join(failures, err)
	}
	return failures
}
