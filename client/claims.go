package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Claim is one person's hold on stock; its ID is the order number.
type Claim struct {
	ID        string    `json:"id"`
	Sale      string    `json:"sale"`
	Item      string    `json:"item"`
	User      string    `json:"user"`
	Quantity  int64     `json:"quantity"`
	State     string    `json:"state"` // held, confirmed, released, expired or revoked
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero: it does not expire
	EndedAt   time.Time `json:"ended_at,omitzero"`   // zero while held

	// Replayed says that an earlier request with the same key made this
	// claim. A claim whose first answer got lost comes back with it.
	Replayed bool `json:"replayed,omitempty"`
}

// Ask is what a buyer wants.
type Ask struct {
	User     string `json:"user,omitempty"`     // not with the identity jwt: there the token says it
	Item     string `json:"item,omitempty"`     // may be left out when the sale has one
	Quantity int64  `json:"quantity,omitempty"` // 0 means 1

	// Key is the idempotency key; the client makes one when it is empty. Keep
	// one of your own (an order draft's id, say) where your program may
	// itself restart before it has the answer.
	Key string `json:"-"`
}

// Claim asks for units of a sale. It returns when the claim is durably
// recorded, or with an *Error that says why there is none.
func (c *Client) Claim(ctx context.Context, sale string, a Ask) (*Claim, error) {
	if a.Key == "" {
		a.Key = c.newKey()
	}
	claim := &Claim{}
	err := c.do(ctx, call{method: http.MethodPost, path: salePath(sale, "/claims"), key: a.Key, body: a, into: claim})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// Result is the answer to one ask of a batch: a claim, or why there is none.
type Result struct {
	Claim *Claim
	Err   error
}

// ClaimBatch asks for up to 1000 people at once, in one request. They are
// decided in their order, and each has its own result. It needs the admin
// token or a backend's API key.
func (c *Client) ClaimBatch(ctx context.Context, sale string, asks []Ask) ([]Result, error) {
	type keyed struct {
		Ask
		Key string `json:"idempotency_key"`
	}
	body := struct {
		Claims []keyed `json:"claims"`
	}{make([]keyed, len(asks))}
	for i, a := range asks {
		body.Claims[i] = keyed{Ask: a, Key: a.Key}
		if a.Key == "" {
			body.Claims[i].Key = c.newKey()
		}
	}
	var answer struct {
		Results []batchResult `json:"results"`
	}
	err := c.do(ctx, call{method: http.MethodPost, path: salePath(sale, "/claims:batch"), body: body, into: &answer})
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(asks) {
		return nil, &Error{Code: Strange, Message: "the batch has " + strconv.Itoa(len(asks)) +
			" claims and the answer " + strconv.Itoa(len(answer.Results))}
	}
	results := make([]Result, len(asks))
	for i := range results {
		results[i] = answer.Results[i].result()
	}
	return results, nil
}

// GetClaim returns a claim: its user's own, or any with the admin token.
func (c *Client) GetClaim(ctx context.Context, id string) (*Claim, error) {
	return c.claim(ctx, http.MethodGet, id, "")
}

// Confirm makes a held claim final. Doing it again changes nothing.
func (c *Client) Confirm(ctx context.Context, id string) (*Claim, error) {
	return c.claim(ctx, http.MethodPost, id, "/confirm")
}

// Release gives a held claim back: its units and its user's slot are free
// when it returns. Doing it again changes nothing.
func (c *Client) Release(ctx context.Context, id string) (*Claim, error) {
	return c.claim(ctx, http.MethodPost, id, "/release")
}

func (c *Client) claim(ctx context.Context, method, id, action string) (*Claim, error) {
	claim := &Claim{}
	if err := c.do(ctx, call{method: method, path: "/v1/claims/" + url.PathEscape(id) + action, into: claim}); err != nil {
		return nil, err
	}
	return claim, nil
}

// Query selects claims of a sale. Empty fields select all.
type Query struct {
	User  string
	State string
	Item  string
	Limit int // claims in one page; 0 leaves it to the server
}

// Claims yields the claims of a sale, oldest first, and fetches page after
// page as they are taken. It ends after the first error.
func (c *Client) Claims(ctx context.Context, sale string, q Query) iter.Seq2[*Claim, error] {
	return func(yield func(*Claim, error) bool) {
		params := q.values()
		for {
			var page struct {
				Claims []*Claim `json:"claims"`
				Next   string   `json:"next_cursor"`
			}
			path := salePath(sale, "/claims?") + params.Encode()
			if err := c.do(ctx, call{method: http.MethodGet, path: path, into: &page}); err != nil {
				yield(nil, err)
				return
			}
			for _, claim := range page.Claims {
				if !yield(claim, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			params.Set("cursor", page.Next)
		}
	}
}

func (q Query) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("user", q.User)
	set("state", q.State)
	set("item", q.Item)
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

func salePath(sale, rest string) string { return "/v1/sales/" + url.PathEscape(sale) + rest }
