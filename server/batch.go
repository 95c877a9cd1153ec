package server

import (
	"context"
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
	results, err := c.claimOrders(c.r.Context(), c.r.PathValue("sale"), orders)
	if err != nil {
		return 0, err
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

// claimOrders makes the claims of orders that can be one, and returns a result
// for each order, in its place.
func (e *engine) claimOrders(ctx context.Context, sale string, orders []order) ([]rushgate.Result, error) {
	results := make([]rushgate.Result, len(orders))
	requests := make([]rushgate.ClaimRequest, 0, len(orders))
	for i, o := range orders {
		if results[i].Err = o.wrong; o.wrong == nil {
			requests = append(requests, rushgate.ClaimRequest{Sale: sale, Item: o.item, User: o.user, Quantity: o.quantity, Key: o.key})
		}
	}
	if len(requests) == 0 {
		_, err := e.service.Sale(ctx, sale)
		return results, err
	}
	made, err := e.service.ClaimBatch(ctx, requests)
	if err != nil {
		return nil, err
	}
	if rushgate.CodeOf(made[0].Err) == rushgate.NotFound {
		return nil, made[0].Err // the sale: it is the same one for all
	}
	for i := range results {
		if results[i].Err == nil {
			results[i], made = made[0], made[1:]
		}
	}
	return results, nil
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
	return readStrictBatch(c.in)
}

// readStrictBatch reads any batch, and says what is wrong with it.
func readStrictBatch(in []byte) ([]order, error) {
	var body batchBody
	if err := decodeStrictly(in, &body); err != nil {
		return nil, err
	}
	if len(body.Claims) == 0 || len(body.Claims) > rushgate.MaxBatch {
		return nil, invalid("claims", "must have 1 to %d claims", rushgate.MaxBatch)
	}
	orders := make([]order, len(body.Claims))
	for i := range body.Claims {
		orders[i] = body.Claims[i].order()
	}
	return orders, nil
}

// order returns the order, or one that says what is wrong with it.
func (b *batchOrder) order() order {
	o, err := b.orderBody.order()
	switch {
	case err != nil:
		o.wrong = err
	case b.Key != nil && *b.Key == "":
		o.wrong = invalid("idempotency_key", "must not be empty; leave it out")
	case b.Key != nil:
		o.key = *b.Key
	}
	return o
}

// readPlainBatch reads {"claims":[…]} of plain orders, as readPlainOrder does.
func readPlainBatch(s string) ([]order, bool) {
	p := plainReader{s: s, keys: true}
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
