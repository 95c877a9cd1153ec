package server

import (
	"fmt"
	"net/http"

	"rushgate"
)

// batchBody is the body of claims:batch.
type batchBody struct {
	Claims []batchOrder `json:"claims"`
}

type batchOrder struct {
	orderBody
	Key *string `json:"idempotency_key"`
}

// claimBatch answers POST /v1/sales/{sale}/claims:batch. A claim that is
// refused is a problem in its place; the others do not mind.
func (s *Server) claimBatch(c *call) (int, error) {
	orders, err := c.orders()
	if err != nil {
		return 0, err
	}
	requests := make([]rushgate.ClaimRequest, len(orders))
	for i, o := range orders {
		requests[i] = rushgate.ClaimRequest{Sale: c.r.PathValue("sale"), Item: o.item, User: o.user, Quantity: o.quantity, Key: o.key}
	}
	results, err := s.service.ClaimBatch(c.r.Context(), requests)
	if err != nil {
		return 0, err
	}
	if rushgate.CodeOf(results[0].Err) == rushgate.NotFound {
		return 0, results[0].Err // the sale: it is the same one for all
	}
	c.out = append(c.out[:0], `{"results":[`...)
	for i := range results {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = s.appendResult(c.out, &results[i])
	}
	c.out = append(c.out, "]}"...)
	return c.send(http.StatusOK)
}

func (s *Server) appendResult(b []byte, r *rushgate.Result) []byte {
	if r.Err == nil {
		return appendClaim(b, &r.Receipt)
	}
	e := asError(r.Err)
	status, title := meaning(e.Code)
	return appendProblem(b, e, status, title, "")
}

// orders reads the body of a batch.
func (c *call) orders() ([]order, error) {
	if err := checkRequestType(c.r); err != nil {
		return nil, err
	}
	var err error
	if c.in, err = readBody(c.r, c.in, MaxBatchBody); err != nil {
		return nil, err
	}
	if orders, ok := readPlainBatch(string(c.in)); ok {
		return orders, nil
	}
	var body batchBody
	if err := decodeStrictly(c.in, &body); err != nil {
		return nil, err
	}
	if len(body.Claims) == 0 || len(body.Claims) > rushgate.MaxBatch {
		return nil, invalid("claims", "must have 1 to %d claims", rushgate.MaxBatch)
	}
	orders := make([]order, len(body.Claims))
	for i := range body.Claims {
		o, err := body.Claims[i].order(fmt.Sprintf("claims[%d].", i))
		if err != nil {
			return nil, err
		}
		if key := body.Claims[i].Key; key != nil {
			if *key == "" {
				return nil, invalid(fmt.Sprintf("claims[%d].idempotency_key", i), "must not be empty; leave it out")
			}
			o.key = *key
		}
		orders[i] = o
	}
	return orders, nil
}

// readPlainBatch reads {"claims":[…]} of plain orders, as readPlainOrder does.
func readPlainBatch(s string) ([]order, bool) {
	p := plainReader{s: s}
	if !p.eat('{') {
		return nil, false
	}
	if name, ok := p.text(); !ok || name != "claims" || !p.eat(':') || !p.eat('[') {
		return nil, false
	}
	orders := make([]order, 0, min(rushgate.MaxBatch, len(s)/32+1))
	for {
		var o order
		if len(orders) == rushgate.MaxBatch || !p.order(&o) {
			return nil, false
		}
		orders = append(orders, o)
		if p.eat(']') {
			return orders, p.eat('}') && p.end()
		}
		if !p.eat(',') {
			return nil, false
		}
	}
}
