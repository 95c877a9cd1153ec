package sqlite

import (
	"context"
	"errors"
	"fmt"

	"rushgate"
	"rushgate/ledger/entry"
)

// Record implements [rushgate.Ledger]. ctx is looked at before the transaction
// begins: one that has begun is brought to its end, so that a caller who goes
// away does not turn a known outcome into an unknown one.
//
// Move.Moved is filled also when the error is ErrUnknown: it is what has
// happened if Recorded says that the batch was committed.
func (l *Ledger) Record(ctx context.Context, b *rushgate.Batch) error {
	err := l.write(ctx, l.opts.Commit, func(ctx context.Context, w *writer) error {
		if _, err := w.batch.ExecContext(ctx, b.ID, entry.Millis(b.At)); err != nil {
			if isUnique(err) {
				return &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: firstSale(b),
					Detail: fmt.Sprintf("batch %d was recorded before", b.ID)}
			}
			return err
		}
		for _, s := range b.Steps {
			if err := w.step(ctx, b, s); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("record a batch", err)
}

func firstSale(b *rushgate.Batch) string {
	if len(b.Steps) == 0 {
		return ""
	}
	return b.Steps[0].On()
}

func (w *writer) step(ctx context.Context, b *rushgate.Batch, s rushgate.Step) error {
	switch s := s.(type) {
	case *rushgate.Grant:
		return w.grant(ctx, b, s)
	case *rushgate.Move:
		return w.move(ctx, b, s)
	case *rushgate.Revoke:
		return w.revokeAll(ctx, b, s)
	case *rushgate.Put:
		return w.put(ctx, b, s)
	case *rushgate.Restock:
		return w.add(ctx, b, s)
	}
	return fmt.Errorf("a ledger knows no step of type %T", s)
}

// write carries out one transaction. An error that is not ErrUnknown means
// that nothing of it was kept.
func (l *Ledger) write(ctx context.Context, around func(func() error) error, do func(context.Context, *writer) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	w := l.w
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := do(ctx, w); err != nil {
		l.rollback(ctx)
		return err
	}
	err := around(func() error {
		_, err := w.commit.ExecContext(ctx)
		return err
	})
	switch {
	case err == nil:
		l.keeper.wrote()
		// A folder that was moved away may be put back, with this batch in it.
		if err := l.here.check(l.dir); err != nil {
			return fmt.Errorf("%w: %w", rushgate.ErrUnknown, err)
		}
		return nil
	case definite(err):
		l.rollback(ctx)
		return err
	}
	l.doubt()
	return fmt.Errorf("%w: %w", rushgate.ErrUnknown, err)
}

// ready says whether the writer may be used, and settles a doubt that an
// earlier commit left.
func (l *Ledger) ready(ctx context.Context) error {
	switch {
	case l.closed:
		return errClosed
	case l.lock == nil:
		return errReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.settle(ctx)
}

// rollback ends a transaction that must not be kept. When that cannot be done
// cleanly, closing the connection does it.
func (l *Ledger) rollback(ctx context.Context) {
	if _, err := l.w.rollback.ExecContext(ctx); err != nil && !noTransaction(err) {
		l.doubt()
	}
}

// tell writes the row of n events of one kind whose last number is last.
func (w *writer) tell(ctx context.Context, b *rushgate.Batch, sale string, last, n int64, kind rushgate.EventKind, claims, data any) error {
	_, err := w.event.ExecContext(ctx, sale, last-n+1, n, string(kind), entry.Millis(b.At), b.ID, claims, data)
	return err
}

// nextSeq takes n event numbers of a sale and returns the last of them.
func (w *writer) nextSeq(ctx context.Context, sale string, n int64) (int64, error) {
	var last int64
	err := w.seq.QueryRowContext(ctx, n, sale).Scan(&last)
	if errors.Is(err, errNoRows) {
		return 0, entry.NoSale(sale)
	}
	return last, err
}
