package server

import (
	"net/http"
	"net/url"
	"strconv"

	"rushgate"
)

// maxPage is how many entries one page of a list has at most.
const maxPage = 1000

// listClaims answers GET /v1/sales/{sale}/claims.
func (s *Server) listClaims(c *call) (int, error) {
	query, err := c.query("user", "item", "state", "limit", "cursor")
	if err != nil {
		return 0, err
	}
	q := rushgate.ClaimQuery{Sale: c.r.PathValue("sale"), User: query.Get("user"), Item: query.Get("item"),
		State: rushgate.State(query.Get("state"))}
	if q.Limit, err = pageSize(query, 100); err != nil {
		return 0, err
	}
	if cursor := query.Get("cursor"); cursor != "" {
		n, err := strconv.ParseInt(cursor, 36, 64)
		if err != nil || n < 0 {
			return 0, invalid("cursor", "must be the next_cursor of a page before")
		}
		q.After = rushgate.ID(n)
	}
	claims, err := c.service.Claims(c.r.Context(), q)
	if err != nil {
		return 0, err
	}
	c.out = append(c.out[:0], `{"claims":[`...)
	for i := range claims {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = appendClaim(c.out, &rushgate.Receipt{Claim: claims[i]})
	}
	c.out = append(c.out, `],"next_cursor":`...)
	if len(claims) < q.Limit {
		c.out = append(c.out, "null}"...)
	} else {
		c.out = strconv.AppendInt(append(c.out, '"'), int64(claims[len(claims)-1].ID), 36)
		c.out = append(c.out, `"}`...)
	}
	return c.send(http.StatusOK)
}

// pageSize reads the limit of a list.
func pageSize(query url.Values, otherwise int) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, invalid("limit", "must be 1 to %d", maxPage)
	}
	return n, nil
}
