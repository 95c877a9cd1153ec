package lab_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// turnstile stands between one seller and a server, and lets so many requests
// through as it is told: the seller then stands still in the middle of what it
// does, exactly there. What a client writes at once is one request.
type turnstile struct {
	addr   string
	server string
	l      net.Listener

	mu     sync.Mutex
	change *sync.Cond
	let    int // requests that may still pass
	open   bool
	cut    bool
	stuck  func() // somebody waits
	conns  []net.Conn
	all    sync.WaitGroup
}

func newTurnstile(t *testing.T, server string) *turnstile {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &turnstile{addr: l.Addr().String(), server: server, l: l, open: true}
	s.change = sync.NewCond(&s.mu)
	s.all.Go(s.accept)
	t.Cleanup(func() {
		_ = l.Close()
		s.die()
		s.all.Wait()
	})
	return s
}

func (s *turnstile) accept() {
	for {
		client, err := s.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", s.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		s.mu.Lock()
		s.conns = append(s.conns, client, server)
		dead := s.cut
		s.mu.Unlock()
		if dead {
			_, _ = client.Close(), server.Close()
			continue
		}
		s.all.Go(func() { s.forward(server, client) })
		s.all.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	}
}

func (s *turnstile) forward(server, client net.Conn) {
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil || s.pass() != nil {
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

var errCut = errors.New("cut")

// pass waits for its turn.
func (s *turnstile) pass() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.open && !s.cut && s.let == 0 {
		s.stuck()
		s.change.Wait()
	}
	if s.cut {
		return errCut
	}
	if !s.open {
		s.let--
	}
	return nil
}

// only lets so many more requests through, and tells when the next one waits.
func (s *turnstile) only(n int, stuck func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.let, s.open, s.stuck = n, false, stuck
}

// release lets everything through.
func (s *turnstile) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	s.change.Broadcast()
}

// die ends all connections: what waits is never sent.
func (s *turnstile) die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	s.change.Broadcast()
	for _, c := range s.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}
