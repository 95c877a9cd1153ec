package rushgate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errBusy: somebody else mends the sale.
var errBusy = errors.New("another node builds the gate's picture of the sale")

// busyPause is how long to wait before looking again whether somebody else has
// mended a sale, or before trying again.
const busyPause = 100 * time.Millisecond

// patience is how long a node waits for another one that has taken the next
// epoch and not loaded the gate yet. It doubles each time that it was in vain, so
// that even the largest sale is loaded by somebody in the end.
type patience struct {
	epoch int64
	until time.Time
	next  time.Duration
}

const firstPatience = 5 * time.Second

// doubt says that the gate's picture of a sale, of an epoch, cannot be trusted.
// The sale is mended beside the desk; until then the gate refuses its claims.
func (n *node) doubt(sale string, epoch int64) {
	n.mends.Lock()
	if had, ok := n.doubts[sale]; !ok || had < epoch {
		n.doubts[sale] = epoch
	}
	n.mends.Unlock()
	wake(n.doubted)
}

func (n *node) doubtful() []string {
	n.mends.Lock()
	defer n.mends.Unlock()
	sales := make([]string, 0, len(n.doubts))
	for sale := range n.doubts {
		sales = append(sales, sale)
	}
	return sales
}

// mendAll mends the sales in doubt, until ctx ends.
func (n *node) mendAll(ctx context.Context) {
	every(ctx, busyPause, n.doubted, func() {
		for _, sale := range n.doubtful() {
			if err := n.mend(ctx, sale); err != nil && !errors.Is(err, errBusy) && ctx.Err() == nil {
				n.complain.about(notMended, sale, err)
			}
		}
	})
}

// mend brings the gate's picture of a sale up to the ledger's, if it is not.
// Of all nodes that try, the one that takes the next epoch does it; grants under
// the old one are refused by the ledger from then on.
func (n *node) mend(ctx context.Context, sale string) error {
	s, err := n.ledger.Sale(ctx, sale)
	if err != nil {
		return err
	}
	mark, err := n.gate.Mark(ctx, sale)
	if err != nil {
		return fmt.Errorf("look at the gate: %w", err)
	}
	if mark.Epoch == s.Epoch && n.trusted(sale, s.Epoch) {
		n.catalog.put(s)
		return nil
	}
	if n.inOtherHands(sale, mark.Epoch, s.Epoch) && !n.impatient(sale, s.Epoch) {
		n.catalog.put(s) // from now on nobody hears early of what the old picture grants
		return errBusy
	}
	err = n.halt(ctx, s, mark)
	if err == nil {
		err = n.drain(ctx, sale, mark.Epoch)
	}
	if err != nil {
		if s.Ack != Recorded && n.drainAgain(sale) {
			return fmt.Errorf("record what was acknowledged before the gate is built anew: %w", err)
		}
		n.log.Error("not everything that the gate granted could be recorded", "sale", sale, "error", err)
	}
	next, taken, err := n.ledger.Fence(ctx, sale, s.Epoch)
	if err != nil {
		return fmt.Errorf("take the epoch: %w", err)
	}
	if !taken {
		return errBusy
	}
	switch err := n.load(ctx, next); {
	case errors.Is(err, ErrStale):
		return errBusy // somebody lost patience, and loads under a later epoch
	case err != nil:
		n.giveUpOn(sale, next.Epoch)
		return err
	}
	return nil
}

// mendNow is mend for those who wait for it, whoever does it.
func (n *node) mendNow(ctx context.Context, sale string) error {
	for {
		err := n.mend(ctx, sale)
		if !errors.Is(err, errBusy) || !pause(ctx, busyPause) {
			return err
		}
	}
}

// halt has a gate that still grants stand still before its epoch ends: what other
// nodes would tell their buyers meanwhile is what the ledger will refuse. Then they
// have the time to record what they have told.
func (n *node) halt(ctx context.Context, s *Sale, mark Mark) error {
	if s.Ack == Recorded || mark.Epoch != s.Epoch || n.halts(s.ID, mark) {
		return nil
	}
	still := s.clone()
	still.Frozen, still.Version = true, mark.Version+1
	if err := n.gate.Put(ctx, &Put{Sale: still}); err != nil {
		return fmt.Errorf("stop the gate: %w", err)
	}
	n.halted(s.ID, Mark{Epoch: still.Epoch, Version: still.Version})
	if err := n.drained(ctx, s.ID); err != nil {
		n.log.Warn("not everything that the gate granted is recorded by those who asked for it", "sale", s.ID, "error", err)
	}
	return nil
}

// halted remembers by which rules this node had a gate stand still.
func (n *node) halted(sale string, still Mark) {
	n.mends.Lock()
	defer n.mends.Unlock()
	n.still[sale] = still
}

// halts says that a gate stands still by the rules that this node gave it.
func (n *node) halts(sale string, mark Mark) bool {
	n.mends.Lock()
	defer n.mends.Unlock()
	return n.still[sale] == Mark{Epoch: mark.Epoch, Version: mark.Version}
}

// drainAgain says whether what was acknowledged early may still be recorded
// before the gate is built anew. A gate that will never tell must not keep a sale
// closed for ever.
func (n *node) drainAgain(sale string) bool {
	n.mends.Lock()
	defer n.mends.Unlock()
	n.drains[sale]++
	return n.drains[sale] < 10*drainTries
}

// trusted ends the doubt about a sale if it was about an older epoch.
func (n *node) trusted(sale string, epoch int64) bool {
	n.mends.Lock()
	defer n.mends.Unlock()
	if doubt, ok := n.doubts[sale]; ok && doubt >= epoch {
		return false
	}
	delete(n.doubts, sale)
	delete(n.patience, sale)
	delete(n.drains, sale)
	n.complain.about(notMended, sale, nil)
	return true
}

// inOtherHands says that the gate has no picture of the ledger's epoch because
// somebody has taken that epoch and not loaded the gate yet. A gate without any
// picture says nothing; but when the epoch is later than the one in doubt, it was
// taken since. Where nothing was in doubt, it is the present epoch from now on.
func (n *node) inOtherHands(sale string, gate, epoch int64) bool {
	n.mends.Lock()
	defer n.mends.Unlock()
	if gate != 0 {
		return gate < epoch
	}
	if n.doubts[sale] == 0 {
		n.doubts[sale] = epoch
	}
	return n.doubts[sale] < epoch
}

// giveUpOn ends the patience with an epoch that this node has taken itself, and
// could not load: nobody else does.
func (n *node) giveUpOn(sale string, epoch int64) {
	n.mends.Lock()
	defer n.mends.Unlock()
	n.patience[sale] = patience{epoch: epoch, next: n.patience[sale].next}
}

// impatient says that whoever took an epoch has had the time to load the gate.
func (n *node) impatient(sale string, epoch int64) bool {
	n.mends.Lock()
	defer n.mends.Unlock()
	p, ok := n.patience[sale]
	if ok && p.epoch == epoch {
		return time.Now().After(p.until)
	}
	p.epoch, p.next = epoch, max(2*p.next, firstPatience)
	p.until = time.Now().Add(p.next)
	n.patience[sale] = p
	return false
}

// load gives the gate the ledger's picture, under the epoch of s. What ended
// while it was made and brought over is given back afterwards: those ends may
// have met the old picture.
func (n *node) load(ctx context.Context, s *Sale) error {
	began := time.Now()
	var seq int64
	err := n.ledger.Snapshot(ctx, s.ID, func(snap Snapshot) error {
		seq = snap.Seq
		return n.gate.Load(ctx, snap)
	})
	if err != nil {
		return fmt.Errorf("load the gate under epoch %d: %w", s.Epoch, err)
	}
	if err := n.replayEnds(ctx, s.ID, seq); err != nil {
		return fmt.Errorf("give back what ended meanwhile: %w", err)
	}
	n.catalog.put(s)
	n.observe.Mended(s.ID)
	n.log.Warn("the gate was built anew from the ledger", "sale", s.ID, "epoch", s.Epoch, "took", time.Since(began))
	n.trusted(s.ID, s.Epoch)
	return nil
}

// replayEnds tells the gate of the claims that ended after an event.
func (n *node) replayEnds(ctx context.Context, sale string, after int64) error {
	const page = 1000
	for {
		events, err := n.ledger.Events(ctx, sale, after, page)
		if err != nil {
			return err
		}
		var ended []Claim
		for _, e := range events {
			if e.Claim != nil && !StateOf(e.Kind).Active() {
				ended = append(ended, *e.Claim)
			}
			after = e.Seq
		}
		if len(ended) > 0 {
			if err := n.gate.Return(ctx, ended); err != nil {
				return err
			}
		}
		if len(events) < page {
			return nil
		}
	}
}
