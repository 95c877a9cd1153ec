package rushgate

import (
	"context"
	"time"
)

// sight is gate and ledger of a sale, looked at so closely together that the
// gate did not change between: the only way to compare two things that others
// use at the same time.
type sight struct {
	epoch  int64 // of the gate's picture
	stock  []Stock
	counts map[string]Count
	still  bool // the gate did not change while the ledger was read
}

// sightTries bounds how often one look is repeated because the gate changed.
const sightTries = 20

func (n *node) sight(ctx context.Context, sale string) (s sight, err error) {
	for range sightTries {
		if s, err = n.glance(ctx, sale); err != nil || s.still {
			return s, err
		}
	}
	return s, nil
}

func (n *node) glance(ctx context.Context, sale string) (sight, error) {
	before, err := n.gate.Mark(ctx, sale)
	if err != nil {
		return sight{}, unavailable(err, "the gate cannot be reached")
	}
	counts, err := n.gate.Count(ctx, sale)
	if err != nil {
		return sight{}, unavailable(err, "the gate cannot be reached")
	}
	stock, err := n.ledger.Stock(ctx, sale)
	if err != nil {
		return sight{}, unavailable(err, "the ledger cannot be read now")
	}
	after, err := n.gate.Mark(ctx, sale)
	if err != nil {
		return sight{}, unavailable(err, "the gate cannot be reached")
	}
	s := sight{epoch: before.Epoch, stock: stock, counts: make(map[string]Count, len(counts)), still: before == after}
	for _, c := range counts {
		s.counts[c.Item] = c
	}
	return s, nil
}

// difference is what a sight shows: units that only the gate has, and units
// that neither the gate nor the ledger nor the journal accounts for.
type difference struct {
	epoch    int64 // of the picture that was looked at
	free     int64
	generous int64
	missing  int64
	told     []string // which items, in words
}

func (s sight) difference() difference {
	d := difference{epoch: s.epoch}
	for _, st := range s.stock {
		c := s.counts[st.Item]
		d.free += c.Free
		switch gap := st.Total - st.Taken - c.Free; {
		case gap < 0:
			d.generous -= gap
			d.told = append(d.told, mismatch(st, c.Free))
		case gap > c.Unsettled: // what is unsettled is on its way into the ledger, or there already
			d.missing += gap - c.Unsettled
			d.told = append(d.told, mismatch(st, c.Free))
		}
	}
	return d
}

// How long units must be missing, at how many looks, until they count as
// stranded: a claim that ends is given back to the gate a moment after it ended
// in the ledger.
const (
	strandedLooks = 5
	strandedPause = 100 * time.Millisecond
	compareLooks  = 40
)

// compare holds gate, journal and ledger against each other while both are in
// use, and mends the gate when they differ.
func (n *node) compare(ctx context.Context, r *Report) error {
	home, err := n.mendWithin(ctx, r.Sale)
	if err != nil {
		return unavailable(err, "the gate cannot be reached")
	}
	r.Healed += home
	d, seen, stranded, err := n.differ(ctx, r.Sale)
	if err != nil {
		return err
	}
	return n.judge(ctx, r, d, seen, stranded)
}

// differ looks until it is clear how gate and ledger differ: seen says that they
// could be compared at one moment, stranded that units are missing for good.
func (n *node) differ(ctx context.Context, sale string) (last difference, seen, stranded bool, err error) {
	same, still := 0, 0
	for range compareLooks {
		s, err := n.sight(ctx, sale)
		if err != nil {
			return last, false, false, err
		}
		d := s.difference()
		if s.still {
			still++
			if d.missing == last.missing {
				same++
			} else {
				same = 1
			}
			last = d
			if d.generous > 0 || d.missing == 0 || same >= strandedLooks {
				break
			}
		}
		if !pause(ctx, strandedPause) {
			return last, false, false, unavailable(ctx.Err(), "the caller gave up while gate and ledger were compared")
		}
	}
	return last, still > 0, same >= strandedLooks, nil
}

// judge writes down what the looks have shown.
func (n *node) judge(ctx context.Context, r *Report, d difference, seen, stranded bool) error {
	if !seen {
		r.add("gate_not_more_generous", true, "the sale never stood still: gate and ledger could not be compared at one moment")
		return nil
	}
	r.add("gate_not_more_generous", d.generous == 0, "%d units free at the gate, %d too many%s", d.free, d.generous, list(d.told))
	if d.generous == 0 && !stranded {
		r.add("nothing_stranded", true, "total = free + held + confirmed + unsettled")
		return nil
	}
	n.doubt(r.Sale, d.epoch)
	if err := n.mendNow(ctx, r.Sale); err != nil {
		r.add("nothing_stranded", false, "%d units stranded; the gate could not be rebuilt: %v%s", d.missing, err, list(d.told))
		return nil
	}
	r.Healed += d.missing
	r.add("nothing_stranded", true, "%d units were stranded and are free again%s", d.missing, list(d.told))
	return nil
}
