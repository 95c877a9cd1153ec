package rushgate

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// follow keeps the catalog in step with what other nodes change, until ctx
// ends: at once when the gate tells, at the latest after followEvery.
func (n *node) follow(ctx context.Context) {
	every(ctx, n.followEvery, n.news, func() {
		if err := n.look(ctx); ctx.Err() == nil {
			n.complain.about(notRead, "", err)
		}
	})
}

// look reads the sales that have changed since the last look.
func (n *node) look(ctx context.Context) error {
	n.looks.Lock()
	defer n.looks.Unlock()
	return n.lookNow(ctx)
}

// lookWithin is look for those who have no end of their own.
func (n *node) lookWithin(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return n.look(ctx)
}

// lookSince looks, unless a look has begun after a moment. A crowd that asks for
// a sale that is not there costs one look at a time.
func (n *node) lookSince(ctx context.Context, t time.Time) error {
	n.looks.Lock()
	defer n.looks.Unlock()
	if n.began.After(t) {
		return nil
	}
	return n.lookNow(ctx)
}

func (n *node) lookNow(ctx context.Context) error {
	n.began = time.Now()
	marks, err := n.ledger.Marks(ctx)
	if err != nil {
		n.absent.Store(&err)
		return err
	}
	n.absent.Store(nil)
	for id, mark := range marks {
		if n.seen[id] == mark {
			continue
		}
		if err := n.refresh(ctx, id); err != nil {
			return err
		}
		n.seen[id] = mark
		n.watch.tell(id)
	}
	return nil
}

// refresh reads one sale anew.
func (n *node) refresh(ctx context.Context, id string) error {
	sale, err := n.ledger.Sale(ctx, id)
	if err == nil {
		n.catalog.put(sale)
	}
	return err
}

// ready says why this node cannot serve: nil when it can.
func (n *node) ready() error {
	if err := n.absent.Load(); err != nil {
		return *err
	}
	return nil
}

// sale returns a sale that must not be changed, or nil. One that this node has
// not heard of may have been made by another a moment ago.
func (s *Service) sale(ctx context.Context, id string) *Sale {
	sale := s.catalog.sale(id)
	if sale == nil && s.node != nil && validID(id) {
		if err := s.node.lookSince(ctx, time.Now()); err != nil {
			s.log.Warn("the ledger cannot be read", "error", err)
		}
		sale = s.catalog.sale(id)
	}
	return sale
}

// claimOf reads a claim. Where several nodes sell, one that was acknowledged or
// granted a moment ago may be on its way into the ledger: then it waits a moment.
func (s *Service) claimOf(ctx context.Context, id ID) (Claim, error) {
	c, err := s.ledger.Claim(ctx, id)
	if s.node == nil || CodeOf(err) != NotFound || !s.catalog.weaker.Load() {
		return c, err // at recorded, whoever knows the id knows a claim that is there
	}
	if age := s.now().Sub(id.Time()); age < -time.Second || age > s.node.adoptAfter {
		return c, err
	}
	select {
	case s.node.waiters <- struct{}{}:
		defer func() { <-s.node.waiters }()
		return s.desk.await(ctx, id)
	default: // enough others wait: whoever invents ids must not keep the ledger busy
		return c, err
	}
}

// maxWaiters bounds those who wait for a claim that they were told of before it
// was recorded.
const maxWaiters = 64

// awaitPause and awaitTries bound the wait for a claim that the gate has
// granted and that is not in the ledger yet.
const (
	awaitPause = 20 * time.Millisecond
	awaitTries = 50
)

// await reads a claim that is about to be recorded.
func (d *desk) await(ctx context.Context, id ID) (c Claim, err error) {
	for range awaitTries {
		if c, err = d.ledger.Claim(ctx, id); CodeOf(err) != NotFound || d.node == nil {
			return c, err
		}
		if !pause(ctx, awaitPause) {
			return c, err
		}
	}
	return c, err
}

// heed acts on what a shared gate says beside its decisions: that it has lost a
// sale, and that it goes by rules that this node has not read yet. What it grants
// under an epoch that is over will be refused, and what it grants by rules that the
// ledger does not have may be recorded by others: nobody hears of that early.
func (n *node) heed(asks []Ask, decisions []Decision) {
	began := time.Now()
	for i := range decisions {
		d, sale := &decisions[i], n.catalog.sale(asks[i].Sale)
		switch {
		case sale == nil:
		case d.Code == Forgot || d.Code == NotFound && sale.Item(asks[i].Item) != nil:
			n.doubt(sale.ID, cmp.Or(d.Epoch, sale.Epoch)) // the catalog may know of the load that mends it
			d.Code = Unavailable
		case d.Code == Frozen && !sale.Frozen && !n.frozen(sale.ID, began):
			d.Code = Unavailable // no operator did it: the gate stands still, to be mended
		case d.Code == Granted:
			if d.Epoch > sale.Epoch || d.Version > sale.Version {
				n.catchUp(sale.ID, Mark{Epoch: d.Epoch, Version: d.Version})
				sale = n.catalog.sale(sale.ID)
			}
			d.Early = d.Early && d.Epoch >= sale.Epoch && d.Version == sale.Version
		}
	}
}

// frozen says whether an operator froze a sale, as the ledger has it since a moment.
func (n *node) frozen(sale string, since time.Time) bool {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	if err := n.lookSince(ctx, since); err != nil {
		n.log.Warn("the ledger cannot be read", "error", err)
	}
	return n.catalog.sale(sale).Frozen
}

// heedLoss acts on the answer of a shared gate that it has lost a sale. A sale
// that nobody asks for is mended, too, before its first buyer comes.
func (n *node) heedLoss(sale string, err error) {
	var e *Error
	if errors.As(err, &e) && e.Code == Forgot && e.Epoch > 0 { // otherwise this node never knew the picture
		n.doubt(sale, e.Epoch)
	}
}

// catchUp reads a sale whose rules the gate knows better, once for each state.
// The gate has rules before the ledger has them; until they are there, the old
// ones hold.
func (n *node) catchUp(sale string, mark Mark) {
	n.mends.Lock()
	known := n.caughtUp[sale] == mark
	n.mends.Unlock()
	if known {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	if err := n.refresh(ctx, sale); err != nil {
		n.log.Warn("the rules of a sale cannot be read", "sale", sale, "error", err)
		return
	}
	n.mends.Lock()
	n.caughtUp[sale] = mark
	n.mends.Unlock()
}

// ungranted words what a buyer may believe whose claim came to nothing.
func (d *desk) ungranted() string {
	if d.node == nil {
		return "nothing was granted"
	}
	return "nothing was granted, or the same key tells"
}
