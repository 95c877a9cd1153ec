package trial

import (
	"cmp"
	"slices"
	"time"

	"rushgate/lab"
)

// Books is what became of one sale: what the buyers heard, held against what the
// way wrote down.
type Books struct {
	Total   int `json:"total"`      // units that there were, with those that an operator added or took back
	Granted int `json:"granted"`    // buyers who heard that they have one
	Orders  int `json:"orders"`     // that are in the books of the way
	Left    int `json:"stock_left"` // by the books of the way

	// Oversold is how many units were given away that did not exist: promised or
	// in the books, beyond the total.
	Oversold int `json:"oversold"`
	// Undersold is how many units nobody has at the end, although more people
	// asked than there were units.
	Undersold int `json:"undersold"`
	// Duplicates is how many users have more than one unit.
	Duplicates int `json:"duplicates"`
	// Contended is how many were turned away because others were faster, while
	// there was stock.
	Contended int `json:"contended"`
	// Unanswered is how many never got an answer.
	Unanswered int `json:"unanswered"`

	// OrdersLost is how many heard that they have one and are not in the books.
	OrdersLost int `json:"orders_lost"`
	// Stranded is how many units are neither in the stock nor in anybody's hands.
	Stranded int `json:"stranded"`
	// Phantom is how many units the stock still offers that do not exist: what an
	// outdated write has put back. Whoever asks next is sold one.
	Phantom int `json:"phantom"`

	Finished bool `json:"finished"` // everybody was served before the time was over
}

// Lost is what a crash took with it: orders that were promised, and units.
func (b *Books) Lost() int { return b.OrdersLost + b.Stranded }

// Excess is what was sold, or is just about to be, and does not exist.
func (b *Books) Excess() int { return b.Oversold + b.Phantom }

// hearsay is what is known where the books cannot be read: what was heard.
func hearsay(total int, all []heard) Books {
	b := Books{Total: total, Contended: contended(all, soldOut(all, total))}
	for i := range all {
		switch all[i].answer {
		case 0:
			b.Unanswered++
		case lab.Granted:
			b.Granted++
		}
	}
	b.Oversold = max(b.Granted-total, 0)
	return b
}

// balance holds what was heard against the books.
func balance(plan Plan, total, left int, all []heard, orders []lab.Order, finished bool) Books {
	b := Books{Total: total, Orders: len(orders), Left: left, Finished: finished}
	units := map[string]int{} // by user
	written := map[string]bool{}
	for _, o := range orders {
		units[o.User]++
		written[o.ID] = true
	}
	for i := range all {
		switch h := &all[i]; {
		case h.answer == 0:
			b.Unanswered++
		case h.answer == lab.Granted && !written[h.order.ID]:
			b.Granted++
			b.OrdersLost++
			units[h.order.User]++
		case h.answer == lab.Granted:
			b.Granted++
		}
	}
	for _, n := range units {
		if n > 1 {
			b.Duplicates++
		}
	}
	sold := b.Orders + b.OrdersLost
	b.Oversold = max(sold-total, 0)
	b.Phantom = max(min(sold, total)+left-total, 0)
	b.Stranded = max(total-sold-max(left, 0), 0)
	b.Undersold = b.Stranded
	if finished && plan.Buyers >= total {
		b.Undersold = max(total-sold, 0)
	}
	b.Contended = contended(all, soldOut(all, total))
	return b
}

// soldOut returns when the last unit was given away: the end of the sale, if
// that never happened.
func soldOut(all []heard, total int) time.Duration {
	var grants []time.Duration
	last := time.Duration(0)
	for i := range all {
		if all[i].answer == lab.Granted {
			grants = append(grants, all[i].end)
		}
		last = max(last, all[i].end)
	}
	if len(grants) < total || total < 1 {
		return last
	}
	slices.SortFunc(grants, cmp.Compare)
	return grants[total-1]
}

func contended(all []heard, until time.Duration) (n int) {
	for i := range all {
		if all[i].answer == lab.Contended && all[i].end <= until {
			n++
		}
	}
	return n
}
