package rushgate

import (
	"context"
	"fmt"
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

// CreateSale makes a sale and opens it for claims as its window says. Without
// an id it gets one. Its Epoch, Frozen, Ended and CreatedAt are set here.
func (s *Service) CreateSale(ctx context.Context, sale Sale) (*SaleView, error) {
	s.operator.Lock()
	defer s.operator.Unlock()
	n := sale.clone()
	if n.ID == "" {
		n.ID = "sale-" + s.desk.ids.next().String()
	}
	if n.Ack == "" {
		n.Ack = Recorded
	}
	n.Frozen, n.Ended, n.Epoch = false, false, 1
	n.CreatedAt = s.now().Truncate(time.Millisecond)
	n.OpensAt, n.ClosesAt = n.OpensAt.Truncate(time.Millisecond), n.ClosesAt.Truncate(time.Millisecond)
	if err := n.Validate(); err != nil {
		return nil, err
	}
	if s.catalog.sale(n.ID) != nil {
		return nil, &Error{Code: AlreadyExists, Field: "id", Message: "there is a sale " + n.ID + " already"}
	}
	if s.catalog.size() >= MaxSales {
		return nil, invalid("id", "there are %d sales already, as many as one server keeps", MaxSales)
	}
	return s.put(ctx, &putErrand{after: n, kind: SaleCreated})
}

// MaxSales is how many sales one server keeps.
const MaxSales = 10_000

// SaleChange changes what it names and leaves the rest.
type SaleChange struct {
	Name     *string
	OpensAt  *time.Time // the zero time: open now
	ClosesAt *time.Time // the zero time: open end
	PerUser  *int64
	Hold     *time.Duration // for claims made from now on
}

// ChangeSale changes the rules of a sale. When it has returned, they hold for
// every later claim. The limit per user can only become wider once somebody
// has a claim: nobody may end up with more than the limit.
func (s *Service) ChangeSale(ctx context.Context, id string, c SaleChange) (*SaleView, error) {
	return s.change(ctx, id, SaleChanged, func(n *Sale) error {
		if n.Ended {
			return &Error{Code: WrongState, Message: "the sale is closed for good"}
		}
		set(&n.Name, c.Name)
		set(&n.OpensAt, c.OpensAt)
		set(&n.ClosesAt, c.ClosesAt)
		set(&n.Hold, c.Hold)
		n.OpensAt, n.ClosesAt = n.OpensAt.Truncate(time.Millisecond), n.ClosesAt.Truncate(time.Millisecond)
		if c.PerUser == nil || *c.PerUser == n.PerUser {
			return nil
		}
		narrower := *c.PerUser != 0 && (n.PerUser == 0 || *c.PerUser < n.PerUser)
		n.PerUser = *c.PerUser
		if narrower {
			return s.unclaimed(ctx, id)
		}
		return nil
	})
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// unclaimed refuses when anybody has a claim of the sale, or may be about to.
func (s *Service) unclaimed(ctx context.Context, id string) error {
	counts, err := s.gate.Count(ctx, id)
	if err != nil {
		return unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	sale := s.catalog.sale(id)
	for _, c := range counts {
		if it := sale.Item(c.Item); it != nil && c.Free != it.Stock {
			return &Error{Code: WrongState, Field: "per_user",
				Message: "the limit can only become wider: somebody has a claim already"}
		}
	}
	return nil
}

// Freeze stops a sale until Resume. When it has returned, nothing is granted.
func (s *Service) Freeze(ctx context.Context, id string) (*SaleView, error) {
	return s.change(ctx, id, SaleWasFrozen, func(n *Sale) error {
		if n.Ended {
			return &Error{Code: WrongState, Message: "the sale is closed for good"}
		}
		n.Frozen = true
		return nil
	})
}

// Resume ends a Freeze.
func (s *Service) Resume(ctx context.Context, id string) (*SaleView, error) {
	return s.change(ctx, id, SaleResumed, func(n *Sale) error {
		if n.Ended {
			return &Error{Code: WrongState, Message: "the sale is closed for good"}
		}
		n.Frozen = false
		return nil
	})
}

// CloseSale ends a sale for good. When it has returned, nothing is granted.
// Held claims can still be confirmed, released, or expire.
func (s *Service) CloseSale(ctx context.Context, id string) (*SaleView, error) {
	return s.change(ctx, id, SaleWasClosed, func(n *Sale) error {
		n.Ended = true
		return nil
	})
}

// change applies one operator's change to a sale. A change that changes
// nothing writes nothing.
func (s *Service) change(ctx context.Context, id string, kind EventKind, edit func(*Sale) error) (*SaleView, error) {
	s.operator.Lock()
	defer s.operator.Unlock()
	before := s.catalog.sale(id)
	if before == nil {
		return nil, unknownSale(id)
	}
	after := before.clone()
	if err := edit(after); err != nil {
		return nil, err
	}
	if err := after.Validate(); err != nil {
		return nil, err
	}
	if after.sameRules(before) {
		return s.Sale(ctx, id)
	}
	return s.put(ctx, &putErrand{before: before, after: after, kind: kind})
}

func (s *Service) put(ctx context.Context, p *putErrand) (*SaleView, error) {
	if err := s.desk.run(ctx, p); err != nil {
		return nil, err
	}
	s.log.Info("sale", "event", p.kind, "sale", p.after.ID)
	return s.Sale(ctx, p.after.ID)
}

// Restock adds units to an item; a negative number takes back units that are
// free, and answers NotEnoughFree when fewer are. When it has returned, the
// new stock holds.
func (s *Service) Restock(ctx context.Context, id, item string, add int64) (*SaleView, error) {
	s.operator.Lock()
	defer s.operator.Unlock()
	sale := s.catalog.sale(id)
	if sale == nil {
		return nil, unknownSale(id)
	}
	after := sale.clone()
	it := after.Item(item)
	if it == nil {
		return nil, invalid("item", "the sale has no item %q", clip(item))
	}
	if sale.Ended {
		return nil, &Error{Code: WrongState, Message: "the sale is closed for good"}
	}
	total, err := addUnits(it.Stock, add)
	if err != nil {
		return nil, err
	}
	it.Stock = total
	if err := s.desk.run(ctx, &restockErrand{sale: id, item: it.ID, add: add, after: after}); err != nil {
		return nil, err
	}
	s.log.Info("sale", "event", ItemRestocked, "sale", id, "item", it.ID, "add", add)
	return s.Sale(ctx, id)
}

// Sale shows a sale as it stands.
func (s *Service) Sale(ctx context.Context, id string) (*SaleView, error) {
	sale := s.catalog.sale(id)
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
	Unsettled int64 // between gate and ledger at this moment
}

// Stock counts a sale at one moment, between two batches.
func (s *Service) Stock(ctx context.Context, id string) ([]StockView, time.Time, error) {
	if s.catalog.sale(id) == nil {
		return nil, time.Time{}, unknownSale(id)
	}
	look := &countErrand{sale: id}
	if err := s.desk.run(ctx, look); err != nil {
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

// mismatch words how gate and ledger differ about an item; free units that the
// gate does not know of are stranded, units that only the gate has are worse.
func mismatch(st Stock, free int64) string {
	return fmt.Sprintf("%s: free %d at the gate, %d in the ledger", st.Item, free, st.Total-st.Taken)
}
