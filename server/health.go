package server

import (
	"net/http"
)

type healthDocument struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz answers that the process is up.
func (s *Server) healthz(c *call) (int, error) {
	return c.sendValue(http.StatusOK, healthDocument{Status: "ok"})
}

// readyz answers whether to send traffic here.
func (s *Server) readyz(c *call) (int, error) {
	if reason := s.unready(); reason != "" {
		c.w.Header()["Retry-After"] = []string{"1"}
		return c.sendValue(http.StatusServiceUnavailable, healthDocument{Status: "unavailable", Reason: reason})
	}
	return c.sendValue(http.StatusOK, healthDocument{Status: "ready"})
}

// unready returns the reason, or "".
func (s *Server) unready() string {
	e := s.engine.Load()
	if e.service != nil && e.service.Err() != nil {
		return "the service stopped: " + e.service.Err().Error()
	}
	select {
	case <-s.stopping:
		return "the server is stopping"
	default:
	}
	if e.service == nil {
		return e.reason
	}
	if err := e.service.Ready(); err != nil {
		return "the ledger cannot be read: " + err.Error()
	}
	if reason := s.outside(); reason != "" {
		return reason
	}
	if reason := s.notReady.Load(); reason != nil {
		return *reason
	}
	if i, ok := s.identity.(interface{ Unready() string }); ok {
		return i.Unready()
	}
	return ""
}
