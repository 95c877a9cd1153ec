package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/postgres"
)

var morning = time.Date(2025, 11, 11, 0, 0, 0, 0, time.UTC)

// till is a ledger with one sale of one item.
type till struct {
	*postgres.Ledger
	batch int64
	ids   rushgate.ID
}

// newTill opens a ledger and makes its sale.
func newTill(t testing.TB, url string, opts postgres.Options) *till {
	t.Helper()
	k := &till{Ledger: opened(t, url, opts)}
	sale := &rushgate.Sale{ID: "s", Name: "Sale", Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "a", Stock: rushgate.MaxStock}}}
	if err := k.record(&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}); err != nil {
		t.Fatal(err)
	}
	return k
}

func opened(t testing.TB, url string, opts postgres.Options) *postgres.Ledger {
	t.Helper()
	l, err := postgres.Open(context.Background(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (k *till) next(steps ...rushgate.Step) *rushgate.Batch {
	k.batch++
	return &rushgate.Batch{ID: k.batch, At: morning, Steps: steps}
}

func (k *till) record(steps ...rushgate.Step) error {
	return k.Record(context.Background(), k.next(steps...))
}

// grant makes n claims.
func (k *till) grant(n int) *rushgate.Grant {
	g := &rushgate.Grant{Sale: "s", Epoch: 1}
	for range n {
		k.ids++
		g.Claims = append(g.Claims, rushgate.Claim{ID: k.ids, Sale: "s", Item: "a", User: fmt.Sprint("user-", k.ids), Quantity: 1, Slot: rushgate.NoSlot,
			State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)})
	}
	return g
}

func (k *till) taken(t testing.TB, want int64) {
	t.Helper()
	stock, err := k.Stock(context.Background(), "s")
	if err != nil || stock[0].Taken != want {
		t.Fatalf("stock %+v, %v; want %d taken", stock, err, want)
	}
}

// settled asks what became of a batch until the server answers.
func (k *till) settled(t testing.TB, b *rushgate.Batch) bool {
	t.Helper()
	for {
		yes, err := k.Recorded(t.Context(), b)
		if err == nil {
			return yes
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// hints checks that an error is one line that says what is wrong and how to mend it.
func hints(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\t") {
		t.Errorf("the error has several lines: %q", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the password: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
