package client_test

import (
	"slices"
	"testing"
	"time"

	"rushgate/client"
)

// The whole API once, through the client, against the real server.
func TestWholeAPI(t *testing.T) {
	p := realServer(t)
	ctx := t.Context()
	opens := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	operator := newSale(t, p, client.Sale{ID: "s", Name: "S", OpensAt: opens, PerUser: 1, Hold: "10m",
		Items: []client.Item{{ID: "a", Stock: 2}, {ID: "b", Stock: 1}}})
	buyer := connect(t, p.URL())

	_, err := buyer.Claim(ctx, "s", client.Ask{User: "u", Item: "a"})
	if e := asError(t, err); e.Code != client.NotOpen || !e.OpensAt.Equal(opens) {
		t.Errorf("before the opening: %+v", e)
	}
	if s, err := operator.ChangeSale(ctx, "s", client.Change{OpensAt: &time.Time{}}); err != nil || s.State != "open" || !s.OpensAt.IsZero() {
		t.Errorf("opened: %+v, %v", s, err)
	}
	claim, err := buyer.Claim(ctx, "s", client.Ask{User: "u", Item: "a", Key: "k"})
	if err != nil || claim.State != "held" || claim.Replayed || claim.ExpiresAt.Sub(claim.CreatedAt) != 10*time.Minute {
		t.Fatalf("%+v, %v", claim, err)
	}
	if again, err := buyer.Claim(ctx, "s", client.Ask{User: "u", Item: "a", Key: "k"}); err != nil || !again.Replayed || again.ID != claim.ID {
		t.Errorf("the same key: %+v, %v", again, err)
	}
	if _, err := buyer.Claim(ctx, "s", client.Ask{User: "u", Item: "b", Key: "k"}); client.CodeOf(err) != client.KeyReused {
		t.Errorf("the same key for something else: %v", err)
	}
	_, err = buyer.Claim(ctx, "s", client.Ask{User: "u", Item: "b"})
	if e := asError(t, err); e.Code != client.LimitReached || !slices.Equal(e.Claims, []string{claim.ID}) {
		t.Errorf("a second one: %+v", e)
	}
	if c, err := operator.Confirm(ctx, claim.ID); err != nil || c.State != "confirmed" || c.EndedAt.IsZero() {
		t.Errorf("confirm: %+v, %v", c, err)
	}
	_, err = buyer.Release(ctx, claim.ID)
	if e := asError(t, err); e.Code != client.WrongState || e.State != "confirmed" {
		t.Errorf("release after confirm: %+v", e)
	}
	_, err = buyer.Claim(ctx, "s", client.Ask{User: "w", Item: "a", Quantity: -1})
	if e := asError(t, err); e.Code != client.Invalid || e.Field != "quantity" || e.Status != 400 {
		t.Errorf("a negative quantity: %+v", e)
	}
	if _, err := buyer.GetClaim(ctx, "1"); client.CodeOf(err) != client.NotFound {
		t.Errorf("a claim that is not there: %v", err)
	}
	if _, err := buyer.Freeze(ctx, "s"); client.CodeOf(err) != client.Unauthenticated {
		t.Errorf("a buyer freezes: %v", err)
	}
	if _, err := operator.Restock(ctx, "s", "b", -2); client.CodeOf(err) != client.NotEnoughFree {
		t.Errorf("taking more than is free: %v", err)
	}
	if s, err := operator.CloseSale(ctx, "s"); err != nil || s.State != "closed" {
		t.Errorf("close: %+v, %v", s, err)
	}
	if _, err := operator.CreateSale(ctx, client.Sale{ID: "s", Items: []client.Item{{ID: "a", Stock: 1}}}); client.CodeOf(err) != client.AlreadyExists {
		t.Errorf("the same id again: %v", err)
	}
	if sales, err := buyer.Sales(ctx); err != nil || len(sales) != 1 || *sales[0].Items[0].Free != 1 {
		t.Errorf("sales: %+v, %v", sales, err)
	}
	if r, err := operator.Audit(ctx, "s"); err != nil || !r.OK || len(r.Checks) < 8 {
		t.Errorf("audit: %+v, %v", r, err)
	}
	kinds := []string{}
	for e, err := range operator.Events(ctx, "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, e.Kind); e.Kind == "sale.closed" {
			break
		}
	}
	if want := []string{"sale.created", "sale.changed", "claim.held", "claim.confirmed", "sale.closed"}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}

func asError(t *testing.T, err error) *client.Error {
	t.Helper()
	e, ok := err.(*client.Error)
	if !ok {
		t.Fatalf("not an *Error: %v", err)
	}
	return e
}

func TestNewRefuses(t *testing.T) {
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://", "http://a b"} {
		if _, err := client.New(url); client.CodeOf(err) != client.Invalid {
			t.Errorf("New(%q): %v", url, err)
		}
	}
	if _, err := client.New("http://x", client.WithRetry(client.Retry{})); client.CodeOf(err) != client.Invalid {
		t.Errorf("no attempts: %v", err)
	}
}
