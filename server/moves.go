package server

import (
	"context"
	"errors"
	"net/http"

	"rushgate"
)

// getClaim answers GET /v1/claims/{id}.
func (s *Server) getClaim(c *call) (int, error) {
	claim, err := s.ownClaim(c)
	if err != nil {
		return 0, err
	}
	return c.sendClaim(&claim)
}

// confirm answers POST /v1/claims/{id}/confirm.
func (s *Server) confirm(c *call) (int, error) { return s.move(c, c.service.Confirm) }

// release answers POST /v1/claims/{id}/release.
func (s *Server) release(c *call) (int, error) { return s.move(c, c.service.Release) }

func (s *Server) move(c *call, to func(context.Context, rushgate.ID) (rushgate.Claim, error)) (int, error) {
	if err := c.decodeNothing(); err != nil {
		return 0, err
	}
	claim, err := s.ownClaim(c)
	if err != nil {
		return 0, err
	}
	if claim, err = to(c.r.Context(), claim.ID); err != nil {
		return 0, err
	}
	return c.sendClaim(&claim)
}

// ownClaim returns the claim of the path, if the caller may know of it.
func (s *Server) ownClaim(c *call) (rushgate.Claim, error) {
	id, err := rushgate.ParseID(c.r.PathValue("id"))
	if err != nil {
		return rushgate.Claim{}, noClaim()
	}
	claim, err := c.service.Get(c.r.Context(), id)
	if errors.Is(err, &rushgate.Error{Code: rushgate.NotFound}) || err == nil && !c.caller.Sees(claim.User) {
		return rushgate.Claim{}, noClaim()
	}
	return claim, err
}

func (c *call) sendClaim(claim *rushgate.Claim) (int, error) {
	c.out = appendClaim(c.out[:0], &rushgate.Receipt{Claim: *claim})
	return c.send(http.StatusOK)
}
