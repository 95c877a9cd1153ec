package client

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Sale is a time-boxed offer.
type Sale struct {
	ID       string    `json:"id,omitempty"` // made by the server if empty
	Name     string    `json:"name,omitempty"`
	OpensAt  time.Time `json:"opens_at,omitzero"`  // zero: open now
	ClosesAt time.Time `json:"closes_at,omitzero"` // zero: open end
	PerUser  int64     `json:"per_user"`           // units one user may have at the same time; 0: no limit
	Hold     string    `json:"hold,omitempty"`     // how long a claim waits for confirm, as "15m"; "0": confirmed at once
	Ack      string    `json:"ack,omitempty"`      // what is true before a claim is answered: "recorded" (committed; the default), "replicated" or "accepted"
	Shards   int       `json:"shards,omitempty"`   // into how many parts a Redis gate divides the stock; 0: 1
	Items    []Item    `json:"items"`

	// What the server tells.
	State     string    `json:"state,omitempty"` // scheduled, open, frozen, closed or sold_out
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Item is a thing with stock.
type Item struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Stock int64  `json:"stock"`
	Free  *int64 `json:"free,omitempty"` // as the server tells it; nil where it does not
}

// CreateSale makes a sale. It is not repeated when its answer gets lost: ask
// for it by its id.
func (c *Client) CreateSale(ctx context.Context, s Sale) (*Sale, error) {
	s.State, s.CreatedAt = "", time.Time{}
	s.Items = slices.Clone(s.Items)
	for i := range s.Items {
		s.Items[i].Free = nil
	}
	return c.sale(ctx, call{method: http.MethodPost, path: "/v1/sales", body: s, once: true})
}

// Sales returns all sales, by id.
func (c *Client) Sales(ctx context.Context) ([]Sale, error) {
	var answer struct {
		Sales []Sale `json:"sales"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/sales", into: &answer})
	if err != nil {
		return nil, err
	}
	return answer.Sales, nil
}

// GetSale returns a sale as it stands. It needs no token.
func (c *Client) GetSale(ctx context.Context, id string) (*Sale, error) {
	return c.sale(ctx, call{method: http.MethodGet, path: salePath(id, "")})
}

// Change changes what it names and leaves the rest. A pointer to the zero time
// removes that side of the window.
type Change struct {
	Name     *string
	OpensAt  *time.Time
	ClosesAt *time.Time
	PerUser  *int64
	Hold     *string // for claims made from now on
}

// ChangeSale changes the rules of a sale; when it returns, they hold.
func (c *Client) ChangeSale(ctx context.Context, id string, change Change) (*Sale, error) {
	body := map[string]any{}
	put(body, "name", change.Name)
	put(body, "per_user", change.PerUser)
	put(body, "hold", change.Hold)
	putTime(body, "opens_at", change.OpensAt)
	putTime(body, "closes_at", change.ClosesAt)
	return c.sale(ctx, call{method: http.MethodPatch, path: salePath(id, ""), body: body})
}

func put[T any](body map[string]any, name string, value *T) {
	if value != nil {
		body[name] = *value
	}
}

// putTime writes the zero time as null, which is how the API says "no bound".
func putTime(body map[string]any, name string, t *time.Time) {
	switch {
	case t == nil:
	case t.IsZero():
		body[name] = nil
	default:
		body[name] = *t
	}
}

// Restock adds units to an item; a negative number takes free units back and
// answers NotEnoughFree when fewer are free. It is not repeated when its
// answer gets lost: look at the stock.
func (c *Client) Restock(ctx context.Context, sale, item string, add int64) (*Sale, error) {
	body := struct {
		Item string `json:"item,omitempty"`
		Add  int64  `json:"add"`
	}{item, add}
	return c.sale(ctx, call{method: http.MethodPost, path: salePath(sale, "/restock"), body: body, once: true})
}

// Freeze stops a sale until Resume. When it returns, nothing is granted.
func (c *Client) Freeze(ctx context.Context, sale string) (*Sale, error) {
	return c.sale(ctx, call{method: http.MethodPost, path: salePath(sale, "/freeze")})
}

// Resume ends a Freeze.
func (c *Client) Resume(ctx context.Context, sale string) (*Sale, error) {
	return c.sale(ctx, call{method: http.MethodPost, path: salePath(sale, "/resume")})
}

// CloseSale ends a sale for good. Held claims can still be confirmed.
func (c *Client) CloseSale(ctx context.Context, sale string) (*Sale, error) {
	return c.sale(ctx, call{method: http.MethodPost, path: salePath(sale, "/close")})
}

func (c *Client) sale(ctx context.Context, k call) (*Sale, error) {
	s := &Sale{}
	k.into = s
	if err := c.do(ctx, k); err != nil {
		return nil, err
	}
	return s, nil
}

// Stock is the count of one item: Total = Free + Held + Confirmed + Unsettled.
type Stock struct {
	Item      string `json:"id"`
	Total     int64  `json:"total"`
	Free      int64  `json:"free"`
	Held      int64  `json:"held"`
	Confirmed int64  `json:"confirmed"`
	Unsettled int64  `json:"unsettled"` // between gate and ledger at this moment
}

// Stock counts a sale at one moment, which it returns, too.
func (c *Client) Stock(ctx context.Context, sale string) ([]Stock, time.Time, error) {
	var answer struct {
		Items []Stock   `json:"items"`
		AsOf  time.Time `json:"as_of"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: salePath(sale, "/stock"), into: &answer})
	return answer.Items, answer.AsOf, err
}

// Report is the result of an audit.
type Report struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Check is one invariant, looked at: Detail has the figures.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Audit checks every invariant of a sale.
func (c *Client) Audit(ctx context.Context, sale string) (*Report, error) {
	r := &Report{}
	if err := c.do(ctx, call{method: http.MethodGet, path: salePath(sale, "/audit"), into: r}); err != nil {
		return nil, err
	}
	return r, nil
}
