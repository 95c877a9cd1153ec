package rushgate_test

import (
	"strings"
	"testing"
	"time"

	"rushgate"
)

// What an operator may get wrong is told before the desk sees it: a change that
// cannot be written would take the claims of its batch with it.
func TestSalesThatMakeNoSense(t *testing.T) {
	w := newWorld(t)
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600)) // the year 10000 in UTC
	early := time.Date(1970, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))        // 1969 in UTC
	now := w.clock.Now()
	for name, c := range map[string]struct {
		edit  func(*rushgate.Sale)
		field string
	}{
		"id":              {func(s *rushgate.Sale) { s.ID = "Phones" }, "id"},
		"long id":         {func(s *rushgate.Sale) { s.ID = strings.Repeat("a", 65) }, "id"},
		"control in name": {func(s *rushgate.Sale) { s.Name = "a\x00b" }, "name"},
		"ends first":      {func(s *rushgate.Sale) { s.OpensAt, s.ClosesAt = now.Add(time.Hour), now }, "closes_at"},
		"empty window":    {func(s *rushgate.Sale) { s.OpensAt, s.ClosesAt = now, now }, "closes_at"},
		"year 10000":      {func(s *rushgate.Sale) { s.ClosesAt = far }, "closes_at"},
		"year 1969":       {func(s *rushgate.Sale) { s.OpensAt = early }, "opens_at"},
		"per user":        {func(s *rushgate.Sale) { s.PerUser = -1 }, "per_user"},
		"hold":            {func(s *rushgate.Sale) { s.Hold = -time.Second }, "hold"},
		"ack":             {func(s *rushgate.Sale) { s.Ack = "accepted" }, "ack"},
		"no items":        {func(s *rushgate.Sale) { s.Items = nil }, "items"},
		"same item":       {func(s *rushgate.Sale) { s.Items = append(s.Items, s.Items[0]) }, "items[1].id"},
		"negative stock":  {func(s *rushgate.Sale) { s.Items[0].Stock = -1 }, "items[0].stock"},
		"endless stock":   {func(s *rushgate.Sale) { s.Items[0].Stock = 1 << 62 }, "items[0].stock"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rushgate.Sale{ID: "phones", Items: []rushgate.Item{{ID: "black", Stock: 1}}}
			c.edit(&s)
			_, err := w.shop.CreateSale(ctx, s)
			wantCode(t, err, rushgate.Invalid)
			if e := err.(*rushgate.Error); e.Field != c.field {
				t.Fatalf("%v: names %q, want %q", err, e.Field, c.field)
			}
		})
	}
	w.sell(t, 1)
	for _, at := range []time.Time{far, early} {
		_, err := w.shop.ChangeSale(ctx, "phones", rushgate.SaleChange{ClosesAt: &at})
		wantCode(t, err, rushgate.Invalid)
	}
	_, err := w.shop.CreateSale(ctx, rushgate.Sale{ID: "phones", Items: []rushgate.Item{{ID: "a"}}})
	wantCode(t, err, rushgate.AlreadyExists)
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	w := newWorld(t)
	w.sell(t, 10, func(s *rushgate.Sale) { s.Items = append(s.Items, rushgate.Item{ID: "white", Stock: 1}) })
	good := rushgate.ClaimRequest{Sale: "phones", Item: "black", User: "ann"}
	for name, edit := range map[string]func(*rushgate.ClaimRequest){
		"no item of two":       func(r *rushgate.ClaimRequest) { r.Item = "" },
		"unknown item":         func(r *rushgate.ClaimRequest) { r.Item = strings.Repeat("x", 10_000) },
		"no user":              func(r *rushgate.ClaimRequest) { r.User = "" },
		"space for a user":     func(r *rushgate.ClaimRequest) { r.User = " " },
		"NUL in a user":        func(r *rushgate.ClaimRequest) { r.User = "a\x00" },
		"hidden in a user":     func(r *rushgate.ClaimRequest) { r.User = "a\u200b" },
		"broken UTF-8":         func(r *rushgate.ClaimRequest) { r.User = "a\xff" },
		"10 KB of user":        func(r *rushgate.ClaimRequest) { r.User = strings.Repeat("u", 10_000) },
		"negative quantity":    func(r *rushgate.ClaimRequest) { r.Quantity = -1 },
		"endless quantity":     func(r *rushgate.ClaimRequest) { r.Quantity = 1 << 62 },
		"space in a key":       func(r *rushgate.ClaimRequest) { r.Key = "a b" },
		"a key in an alphabet": func(r *rushgate.ClaimRequest) { r.Key = "ключ" },
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			edit(&r)
			_, err := w.shop.Claim(ctx, r)
			wantCode(t, err, rushgate.Invalid)
			if len(err.Error()) > 300 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
		})
	}
	_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "ghost", User: "ann"})
	wantCode(t, err, rushgate.NotFound)
	for _, add := range []int64{0, 1 << 62, -1 << 63, rushgate.MaxStock, -11} {
		if _, err := w.shop.Restock(ctx, "phones", "black", add); err == nil {
			t.Fatalf("restock of %d went through", add)
		}
	}
	w.audit(t)
}
