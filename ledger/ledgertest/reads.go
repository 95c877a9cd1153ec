package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rushgate"
)

var reads = []test{
	{"ListByEveryFilterWithACursor", func(t *testing.T, f Factory) {
		d := open(t, f)
		other := d.sell(0, item("a", 1000))
		for _, perUser := range []int64{0, 100} { // claims without slots, and with
			s := d.sell(perUser, item("a", 1000), item("b", 1000))
			d.everyFilter(t, s, d.variety(s, other))
		}
		if got := must[[]rushgate.Claim](t)(d.Claims(t.Context(), rushgate.ClaimQuery{Sale: "ghost", Limit: 5})); len(got) != 0 {
			t.Fatalf("a ghost has claims: %v", got)
		}
		if _, err := d.Claims(t.Context(), rushgate.ClaimQuery{Sale: other.ID}); err == nil {
			t.Fatal("a list without a limit was read")
		}
	}},
	{"ExpiredOldestFirst", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, other := d.sell(0, item("a", 100)), d.sell(0, item("a", 100))
		var want []rushgate.Claim
		for i := range 10 { // the later the claim, the earlier its end
			sale := []*rushgate.Sale{s, other}[i%2]
			c := d.claim(sale, "a", "ann")
			c.ExpiresAt = later(100 - i)
			d.record(start, grant(sale, c))
			want = append([]rushgate.Claim{c}, want...)
		}
		once, ended := d.atOnce(s, "a", "ann"), d.claim(s, "a", "ann")
		d.record(start, grant(s, once, ended))
		d.record(start, move(rushgate.Released, ended))
		expired := func(at time.Time, limit int) []rushgate.Claim {
			return must[[]rushgate.Claim](t)(d.Expired(t.Context(), at, limit))
		}
		same(t, "none yet", expired(later(91).Add(-time.Millisecond), 100), []rushgate.Claim(nil))
		same(t, "at the very moment", expired(later(91), 100), want[:1])
		same(t, "some", expired(later(95), 100), want[:5])
		same(t, "a few", expired(later(1000), 3), want[:3])
		same(t, "all", expired(later(1000), 100), want)
		d.record(later(1000), move(rushgate.ExpiredState, want[0]))
		if got := expired(later(1000), 1); len(got) != 1 || got[0].Sale == want[0].Sale && got[0].ID == want[0].ID {
			t.Fatalf("an expired claim is still due: %v", got)
		}
	}},
	{"SnapshotKnowsWhatAGateMustKnow", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(2, item("a", 10), item("b", 5))
		held, once := withKey(d.claim(s, "a", "ann"), "k1"), d.atOnce(s, "b", "bob")
		silent, keyed := d.claim(s, "a", "cy"), withKey(d.claim(s, "a", "dee"), "k2")
		d.record(start, grant(s, held, once, silent, keyed))
		d.record(later(1), move(rushgate.Released, silent, keyed), &rushgate.Restock{Sale: s.ID, Item: "b", Add: 1})
		bare := func(c rushgate.Claim) rushgate.Claim {
			return rushgate.Claim{ID: c.ID, Item: c.Item, User: c.User, Quantity: c.Quantity, Slot: c.Slot, State: c.State, Key: c.Key}
		}
		keyed.State, keyed.Slot = rushgate.Released, rushgate.NoSlot
		got, all := d.snapshot(s.ID)
		same(t, "claims", all, []rushgate.Claim{bare(held), bare(once), bare(keyed)})
		same(t, "stock", got.Stock, must[[]rushgate.Stock](t)(d.Stock(t.Context(), s.ID)))
		same(t, "sale", *got.Sale, must[[]rushgate.Sale](t)(d.Sales(t.Context()))[0])
	}},
	{"SnapshotIsOfOneMoment", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100))
		first, second := d.claim(s, "a", "u"), d.claim(s, "a", "u")
		d.record(start, grant(s, first, second))
		err := d.Snapshot(t.Context(), s.ID, func(snap rushgate.Snapshot) error {
			// Before a claim is read, and while they are, others come and go.
			d.record(later(1), grant(s, d.claim(s, "a", "u"), d.claim(s, "a", "u")))
			n := 0
			for _, err := range snap.Claims {
				if err != nil {
					return err
				}
				if n++; n == 1 {
					d.record(later(1), move(rushgate.Released, first, second))
				}
			}
			if n != 2 || snap.Stock[0].Taken != 2 {
				return fmt.Errorf("%d claims, stock %+v", n, snap.Stock)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}},
	{"SnapshotReturnsTheErrorOfItsUse", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100))
		d.record(start, grant(s, d.claim(s, "a", "u"), d.claim(s, "a", "u")))
		enough := errors.New("enough")
		for range 10 { // a reader that is not given back would soon be missed
			err := d.Snapshot(t.Context(), s.ID, func(snap rushgate.Snapshot) error {
				for range snap.Claims {
					break
				}
				return enough
			})
			if !errors.Is(err, enough) {
				t.Fatalf("got %v", err)
			}
		}
	}},
	{"WhatIsNotThere", func(t *testing.T, f Factory) {
		d := open(t, f)
		ctx := t.Context()
		if id, err := d.LastID(ctx); id != 0 || err != nil {
			t.Fatalf("the last id of an empty ledger is %d, %v", id, err)
		}
		same(t, "sales", must[[]rushgate.Sale](t)(d.Sales(ctx)), []rushgate.Sale(nil))
		_, claim := d.Claim(ctx, 1)
		_, stock := d.Stock(ctx, "ghost")
		_, tally := d.Tally(ctx, "ghost")
		snapshot := d.Snapshot(ctx, "ghost", func(rushgate.Snapshot) error { return nil })
		for i, err := range []error{claim, stock, tally, snapshot} {
			if rushgate.CodeOf(err) != rushgate.NotFound {
				t.Errorf("%d: got %v, want not_found", i, err)
			}
		}
		if yes, err := d.Recorded(ctx, d.batch(start)); yes || err != nil {
			t.Fatalf("Recorded says %v, %v of a batch that nobody recorded", yes, err)
		}
	}},
	{"ReadersBesideAWriter", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100_000))
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		problems := make(chan error, 8)
		for range 8 {
			readers.Go(func() {
				if err := watch(ctx, d.Ledger, s.ID); err != nil {
					problems <- err
				}
			})
		}
		for i := range 60 {
			var claims []rushgate.Claim
			for range 20 {
				claims = append(claims, d.claim(s, "a", fmt.Sprint("u", i)))
			}
			d.record(later(1), grant(s, claims...))
			d.record(later(1), move(rushgate.Released, claims[:5]...), move(rushgate.Confirmed, claims[5:8]...))
		}
		cancel()
		readers.Wait()
		close(problems)
		for err := range problems {
			t.Error(err)
		}
		d.sound(s.ID)
	}},
}

// watch reads a sale until ctx ends; whatever it sees must fit together.
func watch(ctx context.Context, l rushgate.Ledger, sale string) error {
	seen := int64(0)
	for ctx.Err() == nil {
		y, err := l.Tally(ctx, sale)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		it := y.Items[0]
		if it.Taken != it.CountedHeld+it.CountedConfirmed || y.SeqGaps != 0 || y.BadHistory != 0 {
			return fmt.Errorf("a tally of two moments: %+v", y)
		}
		if y.LastSeq < seen {
			return fmt.Errorf("time went back: event %d after %d", y.LastSeq, seen)
		}
		events, err := l.Events(ctx, sale, seen, 50)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		for i, e := range events {
			if e.Seq != seen+int64(i)+1 {
				return fmt.Errorf("event %d after %d", e.Seq, seen)
			}
		}
		seen += int64(len(events))
	}
	return nil
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// variety records claims in all states by two users on two items, and some of
// another sale in between. It returns the claims of s.
func (d *desk) variety(s, other *rushgate.Sale) []rushgate.Claim {
	d.t.Helper()
	for i := range 80 {
		c := d.claim(s, []string{"a", "b"}[i/2%2], []string{"ann", "bob", "cy"}[i%3])
		if s.PerUser > 0 {
			c.Slot = int32(i)
		}
		d.record(start, grant(s, c), grant(other, d.claim(other, "a", "ann")))
		switch i % 5 {
		case 0:
			d.record(later(1), move(rushgate.Confirmed, c))
		case 1:
			d.record(later(1), move(rushgate.Released, c))
		case 2:
			d.record(start.Add(s.Hold), move(rushgate.ExpiredState, c))
		}
	}
	all, err := d.Claims(context.Background(), rushgate.ClaimQuery{Sale: s.ID, Limit: plenty})
	if err != nil || len(all) != 80 {
		d.t.Fatalf("%d claims, %v", len(all), err)
	}
	return all
}

// everyFilter lists all claims of a sale in every way that there is.
func (d *desk) everyFilter(t *testing.T, s *rushgate.Sale, all []rushgate.Claim) {
	t.Helper()
	for _, user := range []string{"", "ann", "bob", "nobody"} {
		for _, item := range []string{"", "a", "b", "none"} {
			for _, state := range []rushgate.State{"", rushgate.Held, rushgate.Confirmed, rushgate.Released, rushgate.ExpiredState} {
				q := rushgate.ClaimQuery{Sale: s.ID, User: user, Item: item, State: state, Limit: 7}
				same(t, fmt.Sprintf("%+v", q), d.pages(q), filter(all, q))
			}
		}
	}
}

func filter(all []rushgate.Claim, q rushgate.ClaimQuery) []rushgate.Claim {
	var list []rushgate.Claim
	for _, c := range all {
		if (q.User == "" || c.User == q.User) && (q.Item == "" || c.Item == q.Item) && (q.State == "" || c.State == q.State) {
			list = append(list, c)
		}
	}
	return list
}

// pages reads a query to its end, page by page.
func (d *desk) pages(q rushgate.ClaimQuery) []rushgate.Claim {
	d.t.Helper()
	var list []rushgate.Claim
	for {
		page, err := d.Claims(context.Background(), q)
		if err != nil || len(page) > q.Limit {
			d.t.Fatalf("%+v: %d claims, %v", q, len(page), err)
		}
		list = append(list, page...)
		if len(page) < q.Limit {
			return list
		}
		q.After = page[len(page)-1].ID
	}
}

// snapshot reads a snapshot and its claims.
func (d *desk) snapshot(sale string) (rushgate.Snapshot, []rushgate.Claim) {
	d.t.Helper()
	var all []rushgate.Claim
	var snap rushgate.Snapshot
	err := d.Snapshot(context.Background(), sale, func(s rushgate.Snapshot) error {
		snap = s
		for c, err := range s.Claims {
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	if err != nil {
		d.t.Fatalf("snapshot: %v", err)
	}
	return snap, all
}
