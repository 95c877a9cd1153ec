package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"rushgate"
	"rushgate/admission"
)

// The path of a claim over HTTP. In a stampede nearly every request takes it,
// and nearly every one is refused, so it does nothing that it does not need:
// no mux, no wrapped writer, no context values, no timer, no log line.

// The path of a claim, around the sale's id.
const claimsBefore, claimsAfter = "/v1/sales/", "/claims"

// claimPath says whether a request is a claim, and of which sale.
func claimPath(r *http.Request) (sale string, ok bool) {
	const before, after = claimsBefore, claimsAfter
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
	w.Header()["Cache-Control"] = noStore
	// No look at Origin: another site's page cannot send JSON unasked, and
	// checkType takes nothing else from a browser.
	status, err := s.claimInto(w, r, sale, b)
	if err != nil {
		return s.problem(w, r, err)
	}
	return status
}

// claimInto makes the claim and sends it, or returns an error having sent nothing.
func (s *Server) claimInto(w http.ResponseWriter, r *http.Request, sale string, b *scratch) (int, error) {
	e, err := s.serving()
	if err != nil {
		return 0, err
	}
	caller, err := s.identify(r.Context(), authorization(r))
	if err != nil {
		return 0, err
	}
	if err := checkRequestType(r); err != nil {
		return 0, err
	}
	if b.in, err = readBody(r, b.in, MaxBody); err != nil {
		return 0, err
	}
	var key string
	if values := r.Header["Idempotency-Key"]; len(values) > 0 {
		if key, err = idempotencyKey(values); err != nil {
			return 0, err
		}
	}
	receipt, err := e.claim(r.Context(), caller, sale, key, b.in)
	if err != nil {
		return 0, err
	}
	b.out = appendClaim(b.out[:0], &receipt)
	w.Header()["Content-Type"] = typeJSON
	status := claimStatus(&receipt)
	w.WriteHeader(status)
	_, _ = w.Write(b.out) // who has left does not read
	return status, nil
}

// claim is what both ways have in common: from the body to the receipt.
func (e *engine) claim(ctx context.Context, caller admission.Caller, sale, key string, body []byte) (rushgate.Receipt, error) {
	o, err := readOrder(body)
	if err != nil {
		return rushgate.Receipt{}, err
	}
	ask := rushgate.ClaimRequest{Sale: sale, Item: o.item, Quantity: o.quantity, Key: key}
	if ask.User, ask.KeyScope, err = caller.Claimant(o.user); err != nil {
		return rushgate.Receipt{}, err
	}
	receipt, err := e.service.Claim(ctx, ask)
	if err != nil && caller.Role == admission.Buyer {
		err = blameToken(err)
	}
	return receipt, err
}

// blameToken words what is wrong with a buyer's user: the body named none.
func blameToken(err error) error {
	if e := asError(err); e.Code == rushgate.Invalid && e.Field == "user" {
		return admission.Refuse("the token's sub cannot be a user: it " + e.Message)
	}
	return err
}

func claimStatus(r *rushgate.Receipt) int {
	if r.Replayed {
		return http.StatusOK
	}
	return http.StatusCreated
}

// idempotencyKey reads the header. An empty one is a mistake: its sender
// believes to be safe.
func idempotencyKey(values []string) (string, error) {
	if len(values) != 1 || values[0] == "" {
		return "", invalid("idempotency_key", "Idempotency-Key must be given once, and not be empty")
	}
	return values[0], nil
}
