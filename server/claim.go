package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"rushgate"
)

// The path of a claim over HTTP. In a stampede nearly every request takes it,
// and nearly every one is refused, so it does nothing that it does not need:
// no mux, no wrapped writer, no context values, no timer, no log line.

// claimPath says whether a request is a claim, and of which sale.
func claimPath(r *http.Request) (sale string, ok bool) {
	const before, after = "/v1/sales/", "/claims"
	path := r.URL.Path
	if r.Method != http.MethodPost || r.URL.RawPath != "" ||
		len(path) <= len(before)+len(after) || path[:len(before)] != before || path[len(path)-len(after):] != after {
		return "", false
	}
	sale = path[len(before) : len(path)-len(after)]
	return sale, strings.IndexByte(sale, '/') < 0 && sale != "." && sale != ".."
}

// claim answers POST /v1/sales/{sale}/claims.
func (s *Server) claim(w http.ResponseWriter, r *http.Request, sale string) {
	began := time.Now()
	b := s.take()
	status := s.claimOrProblem(w, r, sale, b)
	s.put(b)
	took := time.Since(began)
	s.claimRoute.count(status, took)
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", status, "took", took)
	}
}

func (s *Server) claimOrProblem(w http.ResponseWriter, r *http.Request, sale string, b *scratch) (status int) {
	defer func() {
		if p := recover(); p != nil {
			status = s.panicked(w, r, p)
		}
	}()
	w.Header()["X-Content-Type-Options"] = nosniff
	if s.crossSite.Check(r) != nil {
		return s.problem(w, r, errCrossSite())
	}
	status, err := s.claimInto(w, r, sale, b)
	if err != nil {
		return s.problem(w, r, err)
	}
	return status
}

// claimInto makes the claim and sends it, or returns an error having sent nothing.
func (s *Server) claimInto(w http.ResponseWriter, r *http.Request, sale string, b *scratch) (int, error) {
	caller, err := s.identify(r)
	if err != nil {
		return 0, err
	}
	if err := checkType(r); err != nil {
		return 0, err
	}
	if b.in, err = readBody(r, b.in, MaxBody); err != nil {
		return 0, err
	}
	o, err := readOrder(b.in)
	if err != nil {
		return 0, err
	}
	ask := rushgate.ClaimRequest{Sale: sale, Item: o.item, Quantity: o.quantity}
	if ask.User, ask.KeyScope, err = caller.Claimant(o.user); err != nil {
		return 0, err
	}
	if key := r.Header["Idempotency-Key"]; len(key) > 0 {
		if ask.Key, err = idempotencyKey(key); err != nil {
			return 0, err
		}
	}
	receipt, err := s.service.Claim(r.Context(), ask)
	if err != nil {
		return 0, err
	}
	b.out = appendClaim(b.out[:0], &receipt)
	return sendClaim(w, b.out, receipt.Replayed), nil
}

func sendClaim(w http.ResponseWriter, body []byte, replayed bool) int {
	w.Header()["Content-Type"] = typeJSON
	status := http.StatusCreated
	if replayed {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has left does not read
	return status
}

// idempotencyKey reads the header. An empty one is a mistake: its sender
// believes to be safe.
func idempotencyKey(values []string) (string, error) {
	if len(values) != 1 || values[0] == "" {
		return "", invalid("idempotency_key", "Idempotency-Key must be given once, and not be empty")
	}
	return values[0], nil
}
