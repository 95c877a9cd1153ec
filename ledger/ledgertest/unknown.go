package ledgertest

import (
	"errors"
	"testing"

	"rushgate"
)

// faulty is a commit that fails when it is told to.
type faulty struct {
	before, after bool
}

var errInjected = errors.New("injected: the disk answers no more")

func (f *faulty) commit(commit func() error) error {
	if f.before {
		return errInjected
	}
	if err := commit(); err != nil {
		return err
	}
	if f.after {
		return errInjected
	}
	return nil
}

// unknown are the commits whose end nobody can tell from their error.
var unknown = []test{
	{"ACommitThatFailedBeforeItHappened", func(t *testing.T, f Factory) { failedCommit(t, f, &faulty{before: true}, false) }},
	{"ACommitThatFailedAfterItHappened", func(t *testing.T, f Factory) { failedCommit(t, f, &faulty{after: true}, true) }},
	{"ReadsAfterAFailedCommitSeeWhatARestartWouldSee", func(t *testing.T, f Factory) {
		for _, fault := range []faulty{{before: true}, {after: true}} {
			var hand faulty
			d := openOn(t, t, f.New(t), hand.commit)
			s := d.sell(1, item("a", 10))
			hand = fault
			if err := d.Record(t.Context(), d.batch(later(1), grant(s, d.claim(s, "a", "ann")))); !errors.Is(err, rushgate.ErrUnknown) {
				t.Fatalf("got %v", err)
			}
			seen := d.everything() // without asking Recorded first
			d.reopen()
			same(t, "after a restart", d.everything(), seen)
			d.end()
		}
	}},
	{"FencingAfterAFailedCommit", func(t *testing.T, f Factory) {
		hand := &faulty{}
		d := openOn(t, t, f.New(t), hand.commit)
		defer d.end()
		s := d.sell(1, item("a", 10))
		hand.after = true
		if err := d.Record(t.Context(), d.batch(later(1), grant(s, d.claim(s, "a", "ann")))); !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v", err)
		}
		hand.after = false
		s = d.fence(s.ID)
		d.record(later(2), grant(s, d.claim(s, "a", "bob")))
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 2})
	}},
}

// failedCommit lets a batch of grants and moves fail, and asks what became of it.
func failedCommit(t *testing.T, f Factory, fault *faulty, kept bool) {
	hand := &faulty{}
	d := openOn(t, t, f.New(t), hand.commit)
	defer d.end()
	s := d.sell(1, item("a", 10))
	old, young := d.claim(s, "a", "ann"), d.claim(s, "a", "bob")
	d.record(start, grant(s, old))
	for range 3 {
		before := d.everything()
		*hand = *fault
		m := move(rushgate.Released, old)
		b := d.batch(later(1), grant(s, young), m)
		err := d.Record(t.Context(), b)
		*hand = faulty{}
		if !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		if got := must[bool](t)(d.Recorded(t.Context(), b)); got != kept {
			t.Fatalf("Recorded says %v", got)
		}
		if len(m.Moved) != 1 || m.Moved[0].ID != old.ID {
			t.Fatalf("Moved does not tell what the batch did: %v", m.Moved)
		}
		if !kept {
			same(t, "after a commit that did not happen", d.everything(), before)
			if err := d.Record(t.Context(), b); err != nil { // the same batch once more
				t.Fatalf("record again: %v", err)
			}
		}
		d.sound(s.ID)
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 1})
		old, young = young, d.claim(s, "a", "bob")
		young.User = string(rune('c' + d.batches))
	}
}
