package server

import (
	"context"
	"net/http"

	"rushgate"
)

// restock answers POST /v1/sales/{sale}/restock.
func (s *Server) restock(c *call) (int, error) {
	var body struct {
		Item string `json:"item"`
		Add  *int64 `json:"add"`
	}
	if err := c.decode(&body, MaxBody); err != nil {
		return 0, err
	}
	if body.Add == nil {
		return 0, invalid("add", "must be given: units to add, negative to take free ones back")
	}
	return c.sendSale(c.service.Restock(c.r.Context(), c.r.PathValue("sale"), body.Item, *body.Add))
}

// freeze answers POST /v1/sales/{sale}/freeze.
func (s *Server) freeze(c *call) (int, error) { return c.operate(c.service.Freeze) }

// resume answers POST /v1/sales/{sale}/resume.
func (s *Server) resume(c *call) (int, error) { return c.operate(c.service.Resume) }

// closeSale answers POST /v1/sales/{sale}/close.
func (s *Server) closeSale(c *call) (int, error) { return c.operate(c.service.CloseSale) }

func (c *call) operate(do func(context.Context, string) (*rushgate.SaleView, error)) (int, error) {
	if err := c.decodeNothing(); err != nil {
		return 0, err
	}
	return c.sendSale(do(c.r.Context(), c.r.PathValue("sale")))
}

type stockDocument struct {
	Items []stockItem `json:"items"`
	AsOf  string      `json:"as_of"`
}

type stockItem struct {
	ID        string `json:"id"`
	Total     int64  `json:"total"`
	Free      int64  `json:"free"`
	Held      int64  `json:"held"`
	Confirmed int64  `json:"confirmed"`
	Unsettled int64  `json:"unsettled"`
}

// stock answers GET /v1/sales/{sale}/stock.
func (s *Server) stock(c *call) (int, error) {
	items, at, err := c.service.Stock(c.r.Context(), c.r.PathValue("sale"))
	if err != nil {
		return 0, err
	}
	d := stockDocument{Items: make([]stockItem, len(items)), AsOf: at.UTC().Format(timeLayout)}
	for i, it := range items {
		d.Items[i] = stockItem{ID: it.Item, Total: it.Total, Free: it.Free, Held: it.Held,
			Confirmed: it.Confirmed, Unsettled: it.Unsettled}
	}
	return c.sendValue(http.StatusOK, d)
}

type auditDocument struct {
	Sale   string          `json:"sale"`
	OK     bool            `json:"ok"`
	At     string          `json:"at"`
	Healed int64           `json:"healed"` // units that were stranded and are free again
	Checks []checkDocument `json:"checks"`
}

type checkDocument struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// audit answers GET /v1/sales/{sale}/audit. A failed audit is an answer too.
func (s *Server) audit(c *call) (int, error) {
	report, err := c.service.Audit(c.r.Context(), c.r.PathValue("sale"))
	if err != nil {
		if rushgate.CodeOf(err) == rushgate.Unavailable && c.r.Context().Err() == nil {
			s.metrics.unaudited() // what could not be looked at is not known to be right
		}
		return 0, err
	}
	d := auditDocument{Sale: report.Sale, OK: report.OK, At: report.At.UTC().Format(timeLayout), Healed: report.Healed}
	for _, check := range report.Checks {
		d.Checks = append(d.Checks, checkDocument{Name: check.Name, OK: check.OK, Detail: check.Detail})
	}
	return c.sendValue(http.StatusOK, d)
}
