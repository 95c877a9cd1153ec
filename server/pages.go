package server

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIDocument []byte

func openAPI() []byte { return openAPIDocument }

type pages struct{}

func parsePages([]byte) (*pages, error) { return &pages{}, nil }

func (s *Server) openapi(c *call) (int, error) {
	c.out = append(c.out[:0], s.spec...)
	return c.send(http.StatusOK)
}

func (s *Server) docs(c *call) (int, error) {
	c.w.Header()["Content-Type"] = []string{"text/html; charset=utf-8"}
	c.out = append(c.out[:0], "<!doctype html><title>Rushgate</title>"...)
	return c.send(http.StatusOK)
}

func (s *Server) index(c *call) (int, error) { return s.docs(c) }
