package sqlite_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/sqlite"
)

// TestStockThatDoesNotHaveWhatIsGivenBack: a stock row that somebody has
// spoiled must stop its own sale and no other, so the barrier names the sale.
func TestStockThatDoesNotHaveWhatIsGivenBack(t *testing.T) {
	for to, spoil := range map[rushgate.State]string{
		rushgate.Released:     `UPDATE items SET taken = 0`,
		rushgate.ExpiredState: `UPDATE items SET taken = 0`,
		rushgate.Confirmed:    `UPDATE items SET confirmed = taken`,
	} {
		t.Run(string(to), func(t *testing.T) {
			dir := t.TempDir()
			l := opened(t, dir)
			k := newTill(t, l)
			if err := k.sell(1); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			scribble(t, dir, spoil)
			l = opened(t, dir)
			at := morning.Add(time.Minute)
			if to == rushgate.ExpiredState {
				at = morning.Add(time.Hour)
			}
			err := l.Record(t.Context(), &rushgate.Batch{ID: 77, At: at, Steps: []rushgate.Step{&rushgate.Move{Sale: "s", To: to, IDs: k.yes}}})
			var barrier *rushgate.BarrierError
			if !errors.As(err, &barrier) || barrier.Barrier != rushgate.BarrierStock || barrier.Sale != "s" {
				t.Fatalf("got %v", err)
			}
			if c, err := l.Claim(t.Context(), k.yes[0]); err != nil || c.State != rushgate.Held {
				t.Fatalf("%+v, %v", c, err)
			}
		})
	}
}

// TestShortReadsDoNotWaitForLongOnes: audits and lists may hold every reader
// for as long as they like; what a desk must know is read all the same.
func TestShortReadsDoNotWaitForLongOnes(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k := newTill(t, l)
	if err := k.sell(3); err != nil {
		t.Fatal(err)
	}
	var long sync.WaitGroup
	reading, release := make(chan struct{}), make(chan struct{})
	long.Go(func() {
		err := l.Snapshot(t.Context(), "s", func(rushgate.Snapshot) error { close(reading); <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // so that a read that waits fails, and does not hang
	defer cancel()
	if stock, err := l.Stock(ctx, "s"); err != nil || stock[0].Taken != 3 {
		t.Errorf("stock: %+v, %v", stock, err)
	}
	if c, err := l.Claim(ctx, k.yes[0]); err != nil || c.User != "user-1" {
		t.Errorf("claim: %+v, %v", c, err)
	}
	if yes, err := l.Recorded(ctx, &rushgate.Batch{ID: k.batch}); err != nil || !yes {
		t.Errorf("recorded: %v, %v", yes, err)
	}
	close(release)
	long.Wait()
}
