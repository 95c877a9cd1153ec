package server

import (
	"time"

	"rushgate"
)

// engine is the service as the server has it at one moment, or the reason why
// it has none: a standby serves HTTP, and sells nothing.
type engine struct {
	service *rushgate.Service // nil: there is none
	reason  string            // why
	gone    chan struct{}     // closed when another one takes its place
}

// Attach makes the server serve a service: calls that come from now on find it.
// The caller keeps the service, and calls Detach before it closes it.
func (s *Server) Attach(service *rushgate.Service) {
	s.engage(&engine{service: service, gone: make(chan struct{})})
}

// Detach takes the service away. From now on /readyz answers 503 with the
// reason, and everything under /v1 that it cannot be served; event streams end.
// Calls that found the service before go on with it.
func (s *Server) Detach(reason string) {
	s.engage(&engine{reason: reason, gone: make(chan struct{})})
}

func (s *Server) engage(e *engine) {
	if before := s.engine.Swap(e); before != nil {
		close(before.gone)
	}
}

// serving returns the engine, if it has a service.
func (s *Server) serving() (*engine, error) {
	if e := s.engine.Load(); e.service != nil {
		return e, nil
	}
	return nil, errNoService
}

// Service returns the service that is attached at this moment, or nil.
func (s *Server) Service() *rushgate.Service { return s.engine.Load().service }

// errNoService is what strangers hear of a standby; /readyz tells more.
var errNoService = &rushgate.Error{Code: rushgate.Unavailable, RetryAfter: time.Second,
	Message: "this server does not sell at the moment; another one does, or will in a moment"}
