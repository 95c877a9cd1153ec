package app

import (
	"net"
	"sync"
)

// limitConnections accepts no more than n connections at a time. Further ones
// wait in the kernel's queue until one of those ends: running out of open files
// would hurt the ledger.
func limitConnections(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

// limitedListener counts the connections that it gave away.
type limitedListener struct {
	net.Listener
	free   chan struct{} // one in it for each open connection
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a place, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &countedConn{Conn: c, gone: l.release}, nil
}

func (l *limitedListener) release() { <-l.free }

// Close also ends an Accept that waits for a place.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// countedConn gives its place back once.
type countedConn struct {
	net.Conn
	once sync.Once
	gone func()
}

// Close closes the connection and gives its place back.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.gone)
	return err
}
