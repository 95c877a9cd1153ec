package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rushgate"
	"rushgate/app"
)

// rushgateSeller sells with the whole program, as `rushgate serve` runs it. It
// is asked directly, as all sellers of the lab are: HTTP is left out for all.
type rushgateSeller struct {
	program *app.Program
	sale    string // the one that is on, found by whoever needs it first
}

// labSale begins the names of the lab's sales; item is what they sell.
const labSale, labItem = "lab-", "unit"

func openRushgate(ctx context.Context, p Place, change func(*app.Config)) (Seller, error) {
	cfg := app.Defaults()
	cfg.Listen = "127.0.0.1:0"
	cfg.Data = filepath.Join(p.Folder, "rushgate")
	change(&cfg)
	program, err := app.Open(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &rushgateSeller{program: program}, nil
}

// service is the engine, which is not there while the program stands by.
func (s *rushgateSeller) service() (*rushgate.Service, error) {
	if engine := s.program.Service(); engine != nil {
		return engine, nil
	}
	return nil, errors.New("this node stands by")
}

// Begin ends the sale before and creates the next.
func (s *rushgateSeller) Begin(ctx context.Context, units int) error {
	engine, err := s.service()
	if err != nil {
		return err
	}
	sales, err := engine.Sales(ctx)
	if err != nil {
		return err
	}
	if on := onSale(sales); on != "" {
		if _, err := engine.CloseSale(ctx, on); err != nil {
			return err
		}
	}
	s.sale = fmt.Sprintf("%s%d", labSale, len(sales)+1)
	_, err = engine.CreateSale(ctx, rushgate.Sale{ID: s.sale, Name: "rushgate lab", PerUser: 1,
		Items: []rushgate.Item{{ID: labItem, Stock: int64(units)}}})
	return err
}

// Recover finds the sale that is on. The ledger has told the gate all the rest
// when the program was opened; of a sale that another node has just made, this
// one hears soon.
func (s *rushgateSeller) Recover(ctx context.Context) error {
	for {
		engine, err := s.service()
		if err != nil {
			return err
		}
		sales, err := engine.Sales(ctx)
		if err != nil {
			return err
		}
		if s.sale = onSale(sales); s.sale != "" {
			return nil
		}
		if !Pause(ctx, 20*time.Millisecond) {
			return errors.New("no sale of the lab is on")
		}
	}
}

// onSale returns the sale of the lab that is on; there is one at the most.
func onSale(sales []rushgate.SaleView) string {
	for i := range sales {
		if strings.HasPrefix(sales[i].ID, labSale) && !sales[i].Ended {
			return sales[i].ID
		}
	}
	return ""
}

// Buy claims. The order's id is the idempotency key: who asks again after a lost
// answer gets the claim that was made.
func (s *rushgateSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	engine, err := s.service()
	if err != nil {
		return 0, err
	}
	_, err = engine.Claim(ctx, rushgate.ClaimRequest{Sale: s.sale, Item: labItem, User: o.User, Key: o.ID})
	switch rushgate.CodeOf(err) {
	case "":
		return Granted, nil
	case rushgate.SoldOut, rushgate.Frozen, rushgate.Closed:
		return SoldOut, nil
	case rushgate.LimitReached:
		return Already, nil
	case rushgate.Overloaded:
		return Contended, nil
	}
	return 0, err
}

// Restock adds units.
func (s *rushgateSeller) Restock(ctx context.Context, units int) error {
	engine, err := s.service()
	if err != nil {
		return err
	}
	_, err = engine.Restock(ctx, s.sale, labItem, int64(units))
	return err
}

// Clear freezes the sale, after which nothing is granted, and takes back what is
// free.
func (s *rushgateSeller) Clear(ctx context.Context) (int, error) {
	engine, err := s.service()
	if err != nil {
		return 0, err
	}
	if _, err := engine.Freeze(ctx, s.sale); err != nil {
		return 0, err
	}
	left, err := s.Left(ctx)
	if err != nil || left == 0 {
		return 0, err
	}
	_, err = engine.Restock(ctx, s.sale, labItem, -int64(left))
	return left, err
}

// Left asks for the stock, when it can be told and no claim is on its way any
// more: what a node that died left in the journal is adopted by another one
// within seconds.
func (s *rushgateSeller) Left(ctx context.Context) (int, error) {
	for {
		engine, err := s.service()
		if err != nil {
			return 0, err
		}
		stock, _, err := engine.Stock(ctx, s.sale)
		switch {
		case rushgate.CodeOf(err) == rushgate.Unavailable: // a gate that forgot is being built again
		case err != nil:
			return 0, err
		case stock[0].Unsettled == 0:
			return int(stock[0].Free), nil
		}
		if !Pause(ctx, 20*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
}

// Orders reads the claims in the ledger.
func (s *rushgateSeller) Orders(ctx context.Context) ([]Order, error) {
	engine, err := s.service()
	if err != nil {
		return nil, err
	}
	var orders []Order
	for q := (rushgate.ClaimQuery{Sale: s.sale, Limit: rushgate.MaxPage}); ; {
		claims, err := engine.Claims(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range claims {
			orders = append(orders, Order{ID: claims[i].Key, User: claims[i].User})
		}
		if len(claims) < q.Limit {
			return orders, nil
		}
		q.After = claims[len(claims)-1].ID
	}
}

// Close stops the program in good order.
func (s *rushgateSeller) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.program.Close(ctx)
}

// node names this process among those that sell together.
func node() string { return fmt.Sprintf("lab-%d", os.Getpid()) }
