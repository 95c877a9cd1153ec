package entry

import (
	"encoding/json"
	"time"

	"rushgate"
)

// Told is what the data column of an event says of a change that is not a claim's.
type Told struct {
	Sale *ToldSale `json:"sale,omitempty"`
	Item string    `json:"item,omitempty"`
	Add  int64     `json:"add,omitempty"`
}

// ToldSale is a sale as history keeps it. Its stock is told by the restocks.
type ToldSale struct {
	Name      string     `json:"name"`
	OpensAt   time.Time  `json:"opens_at,omitzero"`
	ClosesAt  time.Time  `json:"closes_at,omitzero"`
	PerUser   int64      `json:"per_user"`
	HoldMS    int64      `json:"hold_ms"`
	Ack       string     `json:"ack"`
	Frozen    bool       `json:"frozen"`
	Ended     bool       `json:"ended"`
	Epoch     int64      `json:"epoch"`
	Version   int64      `json:"version,omitempty"` // 0 in what was written before there were versions
	Shards    int        `json:"shards,omitempty"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	Items     []ToldItem `json:"items"`
}

// ToldItem is an item of a ToldSale.
type ToldItem struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// SaleJSON is the data of an event of a sale.
func SaleJSON(s *rushgate.Sale) (string, error) {
	t := ToldSale{Name: s.Name, OpensAt: Whole(s.OpensAt), ClosesAt: Whole(s.ClosesAt), PerUser: s.PerUser,
		HoldMS: s.Hold.Milliseconds(), Ack: string(s.Ack), Frozen: s.Frozen, Ended: s.Ended, Epoch: s.Epoch,
		Version: s.Version, Shards: s.Shards, CreatedAt: Whole(s.CreatedAt), Items: make([]ToldItem, len(s.Items))}
	for i, it := range s.Items {
		t.Items[i] = ToldItem{it.ID, it.Name}
	}
	b, err := json.Marshal(Told{Sale: &t})
	return string(b), err
}

// Sale is the sale that was told of.
func (t *ToldSale) Sale(id string) *rushgate.Sale {
	s := &rushgate.Sale{ID: id, Name: t.Name, OpensAt: t.OpensAt, ClosesAt: t.ClosesAt, PerUser: t.PerUser,
		Hold: time.Duration(t.HoldMS) * time.Millisecond, Ack: rushgate.Ack(t.Ack), Frozen: t.Frozen, Ended: t.Ended,
		Epoch: t.Epoch, Version: max(t.Version, 1), Shards: max(t.Shards, 1), CreatedAt: t.CreatedAt, Items: make([]rushgate.Item, len(t.Items))}
	for i, it := range t.Items {
		s.Items[i] = rushgate.Item{ID: it.ID, Name: it.Name}
	}
	return s
}
