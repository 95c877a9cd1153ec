package server

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of connections and requests.
const (
	MaxConnections    = 20_000
	MaxHeaderBytes    = 16 << 10
	ReadHeaderTimeout = 10 * time.Second
	ReadTimeout       = 30 * time.Second
	WriteTimeout      = 60 * time.Second
	IdleTimeout       = 120 * time.Second
)

// HTTPServer returns the http.Server for this handler, with every limit set.
// Its Shutdown ends the event streams. Serve it on a listener from Limit.
func (s *Server) HTTPServer() *http.Server {
	h := &http.Server{
		Handler:           s,
		MaxHeaderBytes:    MaxHeaderBytes,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // broken clients, mostly
	}
	h.RegisterOnShutdown(func() { s.stop.Do(func() { close(s.stopping) }) })
	return h
}

// Limit makes a listener accept at most n connections at a time: those above
// wait in the operating system's queue. The metrics count them.
func (s *Server) Limit(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, server: s, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	server *Server
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection, and for a place for it.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	l.server.metrics.connections.Add(1)
	return &counted{Conn: c, leave: l.leave}, nil
}

func (l *limited) leave() {
	l.server.metrics.connections.Add(-1)
	<-l.slots
}

// Close ends Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection that gives its place back when it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close closes the connection.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}
