package trial

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"rushgate/lab"
)

// Admin is what became of the orders of an operator in the middle of a sale.
type Admin struct {
	Books
	Restocked int `json:"restocked"` // units that were added
	Cleared   int `json:"cleared"`   // units that were taken back, as the operator was told
	// After is how many got one although they asked after the stock had been
	// cleared.
	After int `json:"granted_after_clear"`
	// Obeyed: everything that was added was for sale, everything that was cleared
	// was not, and nobody got anything afterwards.
	Obeyed bool `json:"obeyed"`
}

// When the operator acts: parts of the stock, and of the buyers.
const (
	restockAt = 0.25
	clearAt   = 0.6
)

// administer runs one sale in which an operator adds half of the stock again,
// and later clears it.
func (r *runner) administer(ctx context.Context, place lab.Place) (Admin, error) {
	seller, err := r.way.Open(ctx, place)
	if err != nil {
		return Admin{}, err
	}
	defer seller.Close()
	if err := seller.Begin(ctx, r.Plan.Stock); err != nil {
		return Admin{}, err
	}
	c := r.crowd("admin", r.Plan, func(ctx context.Context, _ int, o lab.Order) (lab.Answer, error) { return seller.Buy(ctx, o) })
	c.plan.Think = max(c.plan.Think, breath)
	var done atomic.Bool
	c.enough = done.Load
	restock, clear := c.mark(restockAt, restockAt), c.mark(clearAt, clearAt)

	// An operator does not give up when the buyers have gone.
	acting, giveUp := context.WithTimeout(ctx, r.Plan.Duration+quiet)
	defer giveUp()
	var a Admin
	var cleared time.Duration
	acted := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		acted <- inTurn(over, []<-chan struct{}{restock, clear}, func(n int) (err error) {
			if n == 0 {
				a.Restocked = max(r.Plan.Stock/2, 1)
				return seller.Restock(acting, a.Restocked)
			}
			a.Cleared, err = seller.Clear(acting)
			cleared = time.Since(c.start)
			done.Store(true)
			return err
		})
	}()
	all, gaveUp := c.rush(ctx)
	finished := c.served() && gaveUp == nil
	close(over)
	if err := <-acted; err != nil {
		return Admin{}, fmt.Errorf("the operator: %w", err)
	}
	a.Books, err = r.audit(ctx, r.Plan, seller, r.Plan.Stock+a.Restocked-a.Cleared, all, finished)
	for i := range all {
		if all[i].answer == lab.Granted && all[i].begin > cleared {
			a.After++
		}
	}
	a.Obeyed = a.After == 0 && a.Oversold == 0 && a.Stranded == 0 && a.Left == 0 // nothing is left of what was cleared
	if err == nil {
		err = gaveUp
	}
	return a, err
}

// inTurn waits for each mark in turn and does what is to be done then; when the
// sale is over, at once.
func inTurn(over <-chan struct{}, marks []<-chan struct{}, do func(n int) error) error {
	for n, reached := range marks {
		select {
		case <-over:
		case <-reached:
		}
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}
