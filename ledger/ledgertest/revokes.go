package ledgertest

import (
	"testing"

	"rushgate"
)

var revokes = []test{
	{"ARevokedClaimTakesNothing", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		lost, kept := withKey(d.claim(s, "a", "ann"), "key"), d.claim(s, "a", "bob")
		d.record(later(1), grant(s, kept))
		r := &rushgate.Revoke{Sale: s.ID, Claims: []rushgate.Claim{lost, kept, lost}}
		d.record(later(2), r)
		want := lost
		want.State, want.Slot, want.Key, want.EndedAt = rushgate.Revoked, rushgate.NoSlot, "", later(2)
		same(t, "revoked", r.Revoked, []rushgate.Claim{want})
		same(t, "the claim that was recorded", d.read(kept.ID), kept)
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 1, Taken: 1})
		again := &rushgate.Revoke{Sale: s.ID, Claims: r.Claims, Revoked: r.Revoked}
		d.record(later(3), again)
		if len(again.Revoked) != 0 {
			t.Fatalf("revoked twice: %v", again.Revoked)
		}
		same(t, "the revoked claim", d.read(lost.ID), want)
		list := must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, 0, 10))
		last := list[len(list)-1]
		if len(list) != 3 || last.Kind != rushgate.ClaimRevoked || last.Claim.ID != lost.ID {
			t.Fatalf("events %+v", list)
		}
		d.sound(s.ID)
		d.record(later(4), move(rushgate.Released, kept))
		d.record(later(5), grant(s, withKey(d.claim(s, "a", "ann"), "key"))) // user, unit and key are free
		d.sound(s.ID)
	}},
	{"ARevokedClaimDoesNotMove", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 1))
		c := d.claim(s, "a", "ann")
		d.record(later(1), &rushgate.Revoke{Sale: s.ID, Claims: []rushgate.Claim{c}})
		before := d.everything()
		d.record(later(2), move(rushgate.Confirmed, c))
		d.record(start.Add(2*s.Hold), move(rushgate.ExpiredState, c))
		same(t, "after moves of a revoked claim", d.everything(), before)
		d.refused(rushgate.BarrierID, grant(s, c))
	}},
	{"RevokingInAGhostSale", func(t *testing.T, f Factory) {
		d := open(t, f)
		ghost := sale("ghost", 1, item("a", 1))
		d.refused(rushgate.BarrierExists, &rushgate.Revoke{Sale: "ghost", Claims: []rushgate.Claim{d.claim(ghost, "a", "ann")}})
	}},
}

var finds = []test{
	{"WhoStandsWhereAClaimWasRefused", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, other := d.sell(0, item("a", 10)), d.sell(0, item("a", 10))
		one, two, three := withKey(d.claim(s, "a", "ann"), `k"\1`), withKey(d.claim(s, "a", "bob"), "k2"), d.claim(s, "a", "cy")
		theirs := withKey(d.claim(other, "a", "ann"), "k2")
		d.record(later(1), grant(s, one, two, three), grant(other, theirs))
		find := func(ids []rushgate.ID, keys []string, want ...rushgate.Claim) {
			t.Helper()
			got := must[[]rushgate.Claim](t)(d.Find(t.Context(), s.ID, ids, keys))
			byID(got)
			same(t, "found", got, want)
		}
		find(nil, nil)
		find([]rushgate.ID{one.ID, 4711, theirs.ID}, nil, one)
		find(nil, []string{"k2", "k3", ""}, two)
		find([]rushgate.ID{three.ID, one.ID}, []string{`k"\1`}, one, three)
		d.record(later(2), move(rushgate.Released, two))
		find(nil, []string{"k2"}, d.read(two.ID)) // the key of an ended claim stays
	}},
}
