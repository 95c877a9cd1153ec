package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"rushgate/lock"
)

// Server is one of the servers behind a quorum. It knows what it has done.
type Server struct {
	lock.Backend
	mu      sync.Mutex
	changed chan struct{}
	claims  map[string]done // by token
}

// done is what a server has done for a token.
type done struct {
	acquires int
	released bool // since the latest of them
}

// NewServer returns a server that does what another one does.
func NewServer(b lock.Backend) *Server {
	return &Server{Backend: b, changed: make(chan struct{}), claims: map[string]done{}}
}

// Acquire implements lock.Backend.
func (s *Server) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	a := s.Backend.Acquire(ctx, c)
	s.note(c.Token, func(d *done) { d.acquires, d.released = d.acquires+1, false })
	return a
}

// Release implements lock.Backend.
func (s *Server) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	a := s.Backend.Release(ctx, claims)
	for _, c := range claims {
		s.note(c.Token, func(d *done) { d.released = true })
	}
	return a
}

func (s *Server) note(token string, change func(*done)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.claims[token]
	change(&d)
	s.claims[token] = d
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until enough has been done for a token.
func (s *Server) until(token string, enough func(done) bool) error {
	late := time.After(generous)
	for {
		s.mu.Lock()
		d, changed := s.claims[token], s.changed
		s.mu.Unlock()
		if enough(d) {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return errors.New("one of the servers has never done what was asked")
		}
	}
}

// punctual is a quorum that answers when all its servers have made a claim, or let
// it go. By itself it answers when it is sure, and a slow server may be asked for
// the next thing before it has heard of the last one. Then it says something else
// than the others, and has the casting vote where all must agree.
type punctual struct {
	lock.Backend
	servers []*Server
	mu      sync.Mutex
	asked   map[string]int // Acquire calls, by token
}

// inStep returns a backend of a factory whose servers are always in step.
func (f Factory) inStep(b lock.Backend) lock.Backend {
	if !f.Quorum {
		return b
	}
	return &punctual{Backend: b, servers: f.Servers(b), asked: map[string]int{}}
}

func (p *punctual) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	a := p.Backend.Acquire(ctx, c)
	p.mu.Lock()
	p.asked[c.Token]++
	asked := p.asked[c.Token]
	p.mu.Unlock()
	refused := a.Err == nil && a.State != lock.Granted // then it is given back behind our back
	for _, s := range p.servers {
		err := s.until(c.Token, func(d done) bool { return d.acquires >= asked && (d.released || !refused) })
		if err != nil {
			return lock.Answer{Err: err}
		}
	}
	return a
}

func (p *punctual) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	answers := p.Backend.Release(ctx, claims)
	for i, c := range claims {
		for _, s := range p.servers {
			if err := s.until(c.Token, func(d done) bool { return d.released }); err != nil {
				answers[i] = lock.Answer{Err: err}
			}
		}
	}
	return answers
}
