package server

import (
	"net/http"
	"time"

	"rushgate"
)

// saleDocument is a sale as the API shows it.
type saleDocument struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	OpensAt   *string        `json:"opens_at"`
	ClosesAt  *string        `json:"closes_at"`
	PerUser   int64          `json:"per_user"`
	Hold      span           `json:"hold"`
	Ack       rushgate.Ack   `json:"ack"`
	Shards    int            `json:"shards"`
	State     string         `json:"state,omitempty"`
	Items     []itemDocument `json:"items"`
	CreatedAt string         `json:"created_at"`
}

type itemDocument struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Stock int64  `json:"stock"` // in all
	Free  int64  `json:"free"`
}

func showSale(v *rushgate.SaleView) saleDocument {
	d := saleDocument{ID: v.ID, Name: v.Name, OpensAt: moment(v.OpensAt), ClosesAt: moment(v.ClosesAt),
		PerUser: v.PerUser, Hold: span(v.Hold), Ack: v.Ack, Shards: v.Shards, State: string(v.State),
		Items: make([]itemDocument, len(v.Items)), CreatedAt: v.CreatedAt.UTC().Format(timeLayout)}
	for i, it := range v.Items {
		d.Items[i] = itemDocument{ID: it.ID, Name: it.Name, Stock: it.Stock, Free: v.Free[it.ID]}
	}
	return d
}

// moment is null for the zero time.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(timeLayout)
	return &text
}

// sendSale answers with a sale, or with the error of the method that returned it.
func (c *call) sendSale(v *rushgate.SaleView, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return c.sendValue(http.StatusOK, showSale(v))
}
