package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

// How often a transaction is begun anew, beside the first time.
const (
	deadlockRetries = 20 // each of them lets somebody else go on
	waitRetries     = 1  // after a whole LockWait
	severedRetries  = 2  // a connection that was lost before COMMIT wrote nothing
)

// Record implements [rushgate.Ledger]. ctx is looked at before the transaction
// begins: one that has begun is brought to its end, so that a caller who goes
// away does not turn a known outcome into an unknown one.
//
// Move.Moved is filled also when the error is ErrUnknown: it is what has
// happened if Recorded says that the batch was committed.
//
// The events of a sale become visible in the order of their numbers, see the
// package's description.
func (l *Ledger) Record(ctx context.Context, b *rushgate.Batch) error { return l.record(ctx, b, nil) }

// record records a batch, under a lease if there is one.
func (l *Ledger) record(ctx context.Context, b *rushgate.Batch, under *rushgate.Lease) error {
	err := l.write(ctx, task{l.w, waitRetries, l.opts.Commit}, func(t *tx) error {
		if err := t.begin(b, under); err != nil {
			return err
		}
		if err := t.lockSales(b); err != nil {
			return err
		}
		for _, s := range b.Steps {
			if err := t.step(b, s); err != nil {
				// What the steps before did is still in the script: if that is
				// refused, it is the reason.
				return cmp.Or(t.flush(), err)
			}
		}
		return nil
	})
	return wrap("record a batch", err)
}

// begin writes the row of the batch, if the lease is still what it was. Whoever
// wants to take the lease waits from here on until the transaction has ended.
func (t *tx) begin(b *rushgate.Batch, under *rushgate.Lease) error {
	before := func(refused error) error {
		return &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: firstSale(b),
			Detail: fmt.Sprintf("batch %d was recorded before: %v", b.ID, refused)}
	}
	judge := func(rows int64, refused error) error {
		switch {
		case number(refused) == erDuplicate:
			return before(refused)
		case refused == nil && rows == 0:
			return leaseLost(firstSale(b), under)
		}
		return refused
	}
	if under == nil {
		return t.add(judge, `INSERT INTO batches (id, at) VALUES (?, ?)`, b.ID, entry.Millis(b.At))
	}
	return t.add(judge, `INSERT INTO batches (id, at) SELECT ?, ?`+sqlUnder, b.ID, entry.Millis(b.At), under.Name, under.Term, under.Holder)
}

func firstSale(b *rushgate.Batch) string {
	if len(b.Steps) == 0 {
		return ""
	}
	return b.Steps[0].On()
}

// lockSales locks the rows of all sales of a batch, in one order for everybody.
// All that is written of a sale is written under this lock. A batch of one sale
// that begins with a grant needs no statement for it: the grant's first one
// takes the lock.
func (t *tx) lockSales(b *rushgate.Batch) error {
	var sales []string
	for _, s := range b.Steps {
		if id := s.On(); !slices.Contains(sales, id) {
			sales = append(sales, id)
		}
	}
	if len(sales) == 0 {
		return nil
	}
	if g, ok := b.Steps[0].(*rushgate.Grant); ok && len(sales) == 1 && len(g.Claims) > 0 {
		return nil
	}
	slices.Sort(sales)
	for part := range slices.Chunk(sales, maxList) {
		err := t.add(nil, `UPDATE sales FORCE INDEX (sales_id) SET last_seq = last_seq WHERE id IN (`+marks(len(part))+`) ORDER BY id`, anys(part)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// maxList bounds a list of values in a statement. MariaDB turns lists from 1000
// on into another kind of plan.
const maxList = 500

// marks returns n question marks.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func (t *tx) step(b *rushgate.Batch, s rushgate.Step) error {
	switch s := s.(type) {
	case *rushgate.Grant:
		return t.grant(b, s)
	case *rushgate.Move:
		return t.move(b, s)
	case *rushgate.Revoke:
		return t.revoke(b, s)
	case *rushgate.Put:
		return t.put(b, s)
	case *rushgate.Restock:
		return t.restock(b, s)
	}
	return fmt.Errorf("a ledger knows no step of type %T", s)
}

// task says how a transaction is carried out.
type task struct {
	pool   *sql.DB
	waits  int // how often a lock may keep it waiting for a whole LockWait, beside the first time
	around func(commit func() error) error
}

// write carries out one transaction, several times if other transactions are in
// the way. An error that is not ErrUnknown means that nothing of it was kept.
func (l *Ledger) write(ctx context.Context, how task, do func(*tx) error) error {
	if l.readOnly {
		return errReadOnly
	}
	alone, waits, deadlocks, severances := false, 0, 0, 0
	for {
		began := time.Now()
		err := how.attempt(ctx, alone, do)
		switch {
		case err == nil || errors.Is(err, rushgate.ErrUnknown):
			return err
		case errors.Is(err, errTogether) && !alone:
			alone = true
			continue
		case number(err) == erLockWait && waits < how.waits:
			waits++
			continue
		case deadlocked(err) && deadlocks < deadlockRetries:
			deadlocks++
			continue
		case severed(err) && severances < severedRetries && time.Since(began) < l.opts.Patience: // not a server that says nothing
			severances++
			continue
		}
		return err
	}
}

// temporary says that other transactions were in the way.
func temporary(err error) bool { return deadlocked(err) || number(err) == erLockWait }

func deadlocked(err error) bool {
	n := number(err)
	return n == erDeadlock || n == erChangedMeanwhile
}

// attempt carries out one transaction once. From its beginning on it does not
// end with ctx: the silence that a connection may keep is its bound.
func (how task) attempt(ctx context.Context, alone bool, do func(*tx) error) error {
	conn, err := how.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t := &tx{ctx: context.WithoutCancel(ctx), conn: conn, alone: alone}
	if err := t.add(nil, `START TRANSACTION`); err != nil {
		t.drop()
		return err
	}
	err = do(t)
	if err == nil {
		err = t.flush()
	}
	if err != nil {
		t.rollback()
		return err
	}
	err = how.around(func() error {
		_, err := t.send(`COMMIT`, nil)
		return err
	})
	switch {
	case err == nil:
		return nil
	case definite(err):
		t.rollback()
		return err
	}
	t.drop()
	return fmt.Errorf("%w: %w", rushgate.ErrUnknown, err)
}

// tell writes the row of n events of one kind, whose numbers were taken by the
// latest statement of nextSeq; after them come rest other ones of those.
func (t *tx) tell(b *rushgate.Batch, sale string, n, rest int, kind rushgate.EventKind, claims, data any) error {
	return t.add(nil, `INSERT INTO events (sale, seq, n, kind, at, batch, claims, data) VALUES (?, LAST_INSERT_ID() - ?, ?, ?, ?, ?, ?, ?)`,
		sale, n+rest-1, n, string(kind), entry.Millis(b.At), b.ID, claims, data)
}

// nextSeq takes n event numbers of a sale. The last of them is LAST_INSERT_ID()
// for the statements that follow, until numbers are taken again.
func (t *tx) nextSeq(sale string, n int) error {
	return t.add(found(func() error { return entry.NoSale(sale) }),
		`UPDATE sales SET last_seq = LAST_INSERT_ID(last_seq + ?) WHERE id = ?`, n, sale)
}
