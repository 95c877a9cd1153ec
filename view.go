package rushgate

import (
	"context"
	"slices"
	"strings"
	"time"
)

// SaleView is a sale as it stands now.
type SaleView struct {
	Sale
	State SaleState
	Free  map[string]int64 // units by item, as the gate counts them
}

// Sale shows a sale as it stands.
func (s *Service) Sale(ctx context.Context, id string) (*SaleView, error) {
	sale := s.sale(ctx, id)
	if sale == nil {
		return nil, unknownSale(id)
	}
	return s.view(ctx, sale)
}

// Sales shows all sales, by id.
func (s *Service) Sales(ctx context.Context) ([]SaleView, error) {
	sales := s.catalog.all()
	slices.SortFunc(sales, func(a, b *Sale) int { return strings.Compare(a.ID, b.ID) })
	views := make([]SaleView, 0, len(sales))
	for _, sale := range sales {
		v, err := s.view(ctx, sale)
		if err != nil {
			return nil, err
		}
		views = append(views, *v)
	}
	return views, nil
}

func (s *Service) view(ctx context.Context, sale *Sale) (*SaleView, error) {
	counts, err := s.gate.Count(ctx, sale.ID)
	if err != nil {
		return nil, unavailable(err, "the gate cannot be reached")
	}
	v := &SaleView{Sale: *sale.clone(), Free: make(map[string]int64, len(counts))}
	var free int64
	for _, c := range counts {
		v.Free[c.Item] = c.Free
		free += c.Free
	}
	v.State = sale.State(s.now(), free)
	return v, nil
}

// StockView is the stock of one item: Total = Free + Held + Confirmed + Unsettled.
type StockView struct {
	Item      string
	Total     int64
	Free      int64
	Held      int64
	Confirmed int64
	// Unsettled units are counted by neither: they are stranded until the
	// auditor's next pass. Negative: the gate is more generous than the ledger.
	Unsettled int64
}

// Stock counts a sale at one moment, between two batches.
func (s *Service) Stock(ctx context.Context, id string) ([]StockView, time.Time, error) {
	if s.sale(ctx, id) == nil {
		return nil, time.Time{}, unknownSale(id)
	}
	look := &countErrand{sale: id}
	if s.node != nil {
		sight, err := s.node.sight(ctx, id)
		if err != nil {
			return nil, time.Time{}, err
		}
		look.at, look.stock, look.counts = s.now(), sight.stock, sight.counts
	} else if err := s.desk.run(ctx, look); err != nil {
		return nil, time.Time{}, err
	}
	views := make([]StockView, len(look.stock))
	for i, st := range look.stock {
		free := look.counts[st.Item].Free
		views[i] = StockView{Item: st.Item, Total: st.Total, Free: free, Held: st.Held(),
			Confirmed: st.Confirmed, Unsettled: st.Total - st.Taken - free}
	}
	return views, look.at, nil
}

// countErrand looks at gate and ledger while both are at rest.
type countErrand struct {
	sale   string
	at     time.Time
	stock  []Stock
	counts map[string]Count
}

func (c *countErrand) on() string  { return c.sale }
func (c *countErrand) alone() bool { return true }
func (c *countErrand) undo(*batch) {}

func (c *countErrand) enter(b *batch) (err error) {
	c.at = b.at
	if c.stock, err = b.desk.ledger.Stock(context.Background(), c.sale); err != nil {
		b.desk.endIfLost(err)
		return unavailable(err, "the ledger cannot be read now")
	}
	counts, err := b.desk.gate.Count(context.Background(), c.sale)
	if err != nil {
		return unavailable(err, "the gate cannot be reached")
	}
	c.counts = make(map[string]Count, len(counts))
	for _, n := range counts {
		c.counts[n.Item] = n
	}
	return nil
}

func (c *countErrand) leave(*batch) error { return nil }

// Claims lists claims of a sale.
func (s *Service) Claims(ctx context.Context, q ClaimQuery) ([]Claim, error) {
	if s.sale(ctx, q.Sale) == nil {
		return nil, unknownSale(q.Sale)
	}
	if q.State != "" && !q.State.Known() {
		return nil, invalid("state", "must be held, confirmed, released, expired or revoked")
	}
	if q.Limit < 1 || q.Limit > MaxPage {
		return nil, invalid("limit", "must be 1 to %d", MaxPage)
	}
	claims, err := s.ledger.Claims(ctx, q)
	return claims, s.asError(err)
}

// Events returns up to limit events of a sale after a number, in order.
func (s *Service) Events(ctx context.Context, sale string, after int64, limit int) ([]Event, error) {
	if s.sale(ctx, sale) == nil {
		return nil, unknownSale(sale)
	}
	events, err := s.ledger.Events(ctx, sale, after, limit)
	return events, s.asError(err)
}

// Changed returns a channel that is closed at the next event of a sale. Take
// it first and read the events then, and none is missed. It is nil for a sale
// that is not there.
func (s *Service) Changed(sale string) <-chan struct{} {
	if s.catalog.sale(sale) == nil {
		return nil
	}
	return s.watch.changed(sale)
}
