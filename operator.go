package rushgate

import (
	"context"
	"errors"
	"time"
)

// CreateSale makes a sale and opens it for claims as its window says. Without
// an id it gets one. Its Epoch, Frozen, Ended and CreatedAt are set here.
func (s *Service) CreateSale(ctx context.Context, sale Sale) (*SaleView, error) {
	if err := s.operate(ctx); err != nil {
		return nil, err
	}
	defer s.operated()
	n := sale.clone()
	if n.ID == "" {
		n.ID = "sale-" + s.desk.ids.next().String()
	}
	if n.Ack == "" {
		n.Ack = Recorded
	}
	n.Frozen, n.Ended, n.Epoch, n.Version = false, false, 1, 1
	n.Shards = max(n.Shards, 1)
	n.CreatedAt = s.now().Truncate(time.Millisecond)
	n.tidyWindow()
	if err := n.Validate(); err != nil {
		return nil, err
	}
	if err := s.bearable(n); err != nil {
		return nil, err
	}
	if s.catalog.sale(n.ID) != nil {
		return nil, &Error{Code: AlreadyExists, Field: "id", Message: "there is a sale " + n.ID + " already"}
	}
	if s.catalog.size() >= MaxSales {
		return nil, invalid("id", "there are %d sales already, as many as one server keeps", MaxSales)
	}
	view, err := s.put(ctx, &putErrand{after: n, kind: SaleCreated, apart: s.node != nil})
	if barrierOf(err) == BarrierExists { // another node was faster
		err = &Error{Code: AlreadyExists, Field: "id", Message: "there is a sale " + n.ID + " already"}
	}
	return view, err
}

// bearable refuses what only a shared gate can do.
func (s *Service) bearable(n *Sale) error {
	if _, shared := s.gate.(Shared); shared {
		return nil
	}
	if n.Ack != Recorded {
		return invalid("ack", "must be %q: this gate has no weaker level", Recorded)
	}
	if n.Shards != 1 {
		return invalid("shards", "must be 1: this gate is in one piece")
	}
	return nil
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
		n.tidyWindow()
		set(&n.PerUser, c.PerUser) // whether it may become narrower, the desk knows
		return nil
	})
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
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
	if err := s.operate(ctx); err != nil {
		return nil, err
	}
	defer s.operated()
	var view *SaleView
	err := s.untilCurrent(ctx, id, func(before *Sale) error {
		after := before.clone()
		after.Version = before.Version + 1
		if err := edit(after); err != nil {
			return err
		}
		if err := after.Validate(); err != nil {
			return err
		}
		var err error
		switch {
		case after.sameRules(before):
			view, err = s.Sale(ctx, id)
		case s.node != nil && after.PerUser != before.PerUser:
			view, err = s.relimit(ctx, before, after, kind)
		default:
			view, err = s.put(ctx, &putErrand{before: before, after: after, kind: kind, apart: s.node != nil})
		}
		return err
	})
	if err == nil && s.node != nil && (view.Frozen || view.Ended) {
		err = s.node.drained(ctx, id)
	}
	return view, err
}

// untilCurrent makes a change from the present state of a sale. Where several nodes sell, another one may change
// the sale at the same time, or build the gate anew: then the change is made
// again, from what that one left.
func (s *Service) untilCurrent(ctx context.Context, id string, change func(before *Sale) error) error {
	if s.node == nil {
		before := s.catalog.sale(id)
		if before == nil {
			return unknownSale(id)
		}
		return change(before)
	}
	const tries = 100
	for try := 1; ; try++ {
		before, err := s.node.current(ctx, id)
		if err == nil {
			err = change(before)
		}
		if !overtaken(err) || try == tries || !pause(ctx, busyPause) {
			return s.asError(err)
		}
	}
}

// overtaken says that a change failed because another node was faster.
func overtaken(err error) bool {
	b := barrierOf(err)
	return b == BarrierVersion || b == BarrierEpoch || errors.Is(err, ErrStale)
}

func barrierOf(err error) Barrier {
	var barrier *BarrierError
	if errors.As(err, &barrier) {
		return barrier.Barrier
	}
	return ""
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
	if err := s.operate(ctx); err != nil {
		return nil, err
	}
	defer s.operated()
	err := s.untilCurrent(ctx, id, func(sale *Sale) error {
		after := sale.clone()
		it, err := after.named(item)
		if err != nil {
			return err
		}
		if sale.Ended {
			return &Error{Code: WrongState, Message: "the sale is closed for good"}
		}
		total, err := addUnits(it.Stock, add)
		if err != nil {
			return err
		}
		it.Stock = total
		return s.desk.run(ctx, &restockErrand{sale: id, item: it.ID, add: add, after: after})
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("sale", "event", ItemRestocked, "sale", id, "item", item, "add", add)
	return s.Sale(ctx, id)
}

// operate waits until no other operator changes anything, or gives up with ctx.
func (s *Service) operate(ctx context.Context) error {
	select {
	case s.operator <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable(ctx.Err(), "the caller gave up while another change was made; nothing was changed")
	}
}

func (s *Service) operated() { <-s.operator }
