package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rushgate"
	"rushgate/ledger/entry"
)

// Record implements [rushgate.Ledger]. ctx is looked at before the transaction
// begins: one that has begun is brought to its end, within LockWait and Patience.
//
// Move.Moved is filled also when the error is ErrUnknown: it is what has
// happened if Recorded says that the batch was committed.
//
// The numbers of a sale's events are taken from its row, which this transaction
// has from then on until its commit: they become visible in their order.
func (l *Ledger) Record(ctx context.Context, b *rushgate.Batch) error {
	return l.record(ctx, nil, b)
}

func (l *Ledger) record(ctx context.Context, under *guard, b *rushgate.Batch) error {
	head := leadingGrants(b)
	err := l.recordWith(ctx, under, b, head)
	var barrier *rushgate.BarrierError
	if head > 0 && errors.As(err, &barrier) {
		// Something of the head was refused, perhaps only because it came before
		// its time. In the order of the steps it is told for certain, and why.
		err = l.recordWith(ctx, under, b, 0)
	}
	return l.wrap("record a batch", err)
}

// leadingGrants counts the grants with which a batch begins.
func leadingGrants(b *rushgate.Batch) int {
	for i, s := range b.Steps {
		if _, ok := s.(*rushgate.Grant); !ok {
			return i
		}
	}
	return len(b.Steps)
}

// recordWith records a batch. The claims of the first head steps, grants all of
// them, are written before the sales are locked: nothing that other nodes do with
// the sales meanwhile has to wait for them, and they are most of the work.
func (l *Ledger) recordWith(ctx context.Context, under *guard, b *rushgate.Batch, head int) error {
	return l.write(ctx, under, l.opts.Commit, func(ctx context.Context, t *tx) error {
		t.note(b)
		for _, s := range b.Steps[:head] {
			if err := t.insert(b, s.(*rushgate.Grant)); err != nil {
				return err
			}
		}
		t.lock(salesOf(b))
		for i, s := range b.Steps {
			if err := t.step(ctx, b, s, i < head); err != nil {
				return err
			}
		}
		return nil
	})
}

// note writes the batch's row. It is the first, so that whoever asks what became
// of the batch finds it as soon as anything is there.
func (t *tx) note(b *rushgate.Batch) {
	t.exec(func(_ int64, err error) error {
		if codeOf(err) == codeUnique {
			return &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: firstSale(b),
				Detail: fmt.Sprintf("batch %d was recorded before", b.ID)}
		}
		return err
	}, `INSERT INTO batches (id, at) VALUES ($1, $2)`, b.ID, entry.Millis(b.At))
}

func firstSale(b *rushgate.Batch) string {
	if len(b.Steps) == 0 {
		return ""
	}
	return b.Steps[0].On()
}

// salesOf returns the ids of the sales of a batch, each once.
func salesOf(b *rushgate.Batch) []string {
	var list []string
	for _, s := range b.Steps {
		list = append(list, s.On())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (t *tx) step(ctx context.Context, b *rushgate.Batch, s rushgate.Step, inserted bool) error {
	switch s := s.(type) {
	case *rushgate.Grant:
		return t.grant(b, s, inserted)
	case *rushgate.Move:
		return t.move(b, s)
	case *rushgate.Revoke:
		return t.revoke(ctx, b, s)
	case *rushgate.Put:
		return t.put(ctx, b, s)
	case *rushgate.Restock:
		return t.restock(b, s)
	}
	return fmt.Errorf("a ledger knows no step of type %T", s)
}

// sqlTell takes the numbers of events from the row of their sale, and writes
// their rows: for each how many events come before it, how many it tells, of
// which kind, their claims and their data.
const sqlTell = `WITH s AS (
		UPDATE sales SET last_seq = last_seq + $2 WHERE id = $1 AND epoch = coalesce($3, epoch) RETURNING last_seq - $2 AS last
	)
	INSERT INTO events (sale, seq, n, kind, at, batch, claims, data)
	SELECT $1, s.last + 1 + e.skip, e.n, e.kind, $4, $5, e.claims, e.data
	FROM s, unnest($6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[]) AS e(skip, n, kind, claims, data)`

// chapter is what a step tells: rows of the events table.
type chapter struct {
	n            int64 // events so far
	skip, count  []int64
	kind         []string
	claims, data []*string
}

// add adds n events of one kind. claims and data are nil for none.
func (c *chapter) add(n int64, kind rushgate.EventKind, claims, data *string) {
	c.skip, c.count = append(c.skip, c.n), append(c.count, n)
	c.kind, c.claims, c.data = append(c.kind, string(kind)), append(c.claims, claims), append(c.data, data)
	c.n += n
}

// tell writes events of a sale, if it has the epoch; nil is any.
func (t *tx) tell(b *rushgate.Batch, sale string, epoch *int64, c *chapter) {
	t.exec(func(rows int64, err error) error {
		if err == nil && rows == 0 {
			return t.otherEpoch(sale, epoch)
		}
		return err
	}, sqlTell, sale, c.n, epoch, entry.Millis(b.At), b.ID, c.skip, c.count, c.kind, c.claims, c.data)
}

// otherEpoch says why a sale did not take a step of an epoch.
func (t *tx) otherEpoch(sale string, epoch *int64) error {
	s := t.sales[sale]
	if s == nil || epoch == nil {
		return entry.NoSale(sale)
	}
	return entry.OtherEpoch(sale, *epoch, s.epoch)
}
