package trial

import (
	"context"
	"time"

	"rushgate/lab"
)

// rush runs one sale in which nothing goes wrong, and measures it.
func (r *runner) rush(ctx context.Context, place lab.Place) (Books, Speed, error) {
	seller, err := r.way.Open(ctx, place)
	if err != nil {
		return Books{}, Speed{}, err
	}
	defer seller.Close()
	if err := seller.Begin(ctx, r.Plan.Stock); err != nil {
		return Books{}, Speed{}, err
	}
	before, err := r.count(ctx)
	if err != nil {
		return Books{}, Speed{}, err
	}
	c := r.crowd("rush", r.Plan, func(ctx context.Context, _ int, o lab.Order) (lab.Answer, error) { return seller.Buy(ctx, o) })
	c.enough = c.soldOut
	all, gaveUp := c.rush(ctx)
	finished := c.served() && gaveUp == nil
	s := measure(all, r.Plan.Stock)
	if gaveUp == nil {
		after, err := r.count(ctx)
		if err != nil { // the server went away: what was heard until then is known
			return hearsay(r.Plan.Stock, all), s, err
		}
		s.Commands, s.RoundTrips = after.since(before, len(all))
	}
	b, err := r.audit(ctx, r.Plan, seller, r.Plan.Stock, all, finished)
	if gaveUp != nil {
		err = gaveUp // it is the reason for everything else
	}
	return b, s, err
}

// audit reads the books, when all is quiet: whoever was given up may still be
// served by a server that is late.
func (r *runner) audit(ctx context.Context, plan Plan, seller lab.Seller, total int, all []heard, finished bool) (Books, error) {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	before := -1
	for {
		left, err := seller.Left(ctx)
		if err != nil {
			return hearsay(total, all), err
		}
		orders, err := seller.Orders(ctx)
		if err != nil {
			return hearsay(total, all), err
		}
		b := balance(plan, total, left, all, orders, finished)
		if b.Unanswered == 0 || b.Orders == before {
			return b, nil
		}
		before = b.Orders
		lab.Pause(ctx, settle)
	}
}

// settle is how long nothing may have changed before the books count as settled.
const settle = 200 * time.Millisecond
