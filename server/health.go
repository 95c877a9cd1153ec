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

func (s *Server) unready() string {
	select {
	case <-s.service.Failed():
		return "the service stopped: " + s.service.Err().Error()
	case <-s.stopping:
		return "the server is stopping"
	default:
	}
	if err := s.service.Ready(); err != nil {
		return "the ledger cannot be read: " + err.Error()
	}
	if reason := s.notReady.Load(); reason != nil {
		return *reason
	}
	if i, ok := s.identity.(interface{ Unready() string }); ok {
		return i.Unready()
	}
	return ""
}
