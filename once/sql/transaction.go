package oncesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rushgate/once"
)

// TxOptions tune one call of DoTx. The zero value is right for most.
type TxOptions struct {
	// Keep is for how long the result is kept. Default: for ever, for what the
	// work has changed stays, too; at least 1 ms.
	Keep time.Duration

	// Request ties the key to a request, as once.Matching does. Default: none.
	Request []byte

	// MaxResult bounds the result, in bytes. Default 64 KiB; at most 16 MiB.
	MaxResult int

	// Begin are the options of the transaction. Default: the database's own.
	Begin *sql.TxOptions
}

func (o *TxOptions) complete() error {
	if o.Keep == 0 {
		o.Keep = once.Forever
	}
	if o.MaxResult == 0 {
		o.MaxResult = 64 << 10
	}
	if o.Keep < time.Millisecond || o.MaxResult < 1 || o.MaxResult > 16<<20 {
		return fmt.Errorf("once: TxOptions: Keep is %v and must be at least 1ms; MaxResult is %d and must be 1 to %d bytes", o.Keep, o.MaxResult, 16<<20)
	}
	return nil
}

// TxWork is what is done once, in a transaction that it neither commits nor rolls
// back. Whatever it changes through the transaction, it changes exactly once. An
// error of a statement is for it to return: after some of them the database has
// undone the whole transaction, and if the work goes on, DoTx says so in an error.
type TxWork func(ctx context.Context, tx *sql.Tx, a once.Attempt) ([]byte, error)

// DoTx runs work exactly once for each key, as far as the work is what it does
// in the transaction: the key, its changes and its result are committed together,
// or not at all. So there is no lease, no fencing, and nothing to take over after a crash.
//
// Who comes while another transaction has the key waits for its end, in the
// database; the context bounds that. If that one fails, the next one runs its work.
// A failure marked by once.Permanent is kept as the result, in a second transaction,
// after what the work has changed is undone. When the transaction loses a race
// (deadlock, serialization failure), it is undone and the work is run again, up to
// ten times.
//
// Keys are shared with Do on the same store. While an attempt of Do has the key, DoTx
// answers ErrInProgress; while a transaction of DoTx has it, so does Do, after its
// Patience. (In SQLite one transaction at a time writes: Do cannot tell whether that has
// its key, and even with NoWait waits for it as long as the busy timeout and its own.) After ErrUnrecorded nobody knows whether the
// transaction was committed; calling DoTx again tells.
func (s *Store) DoTx(ctx context.Context, key string, o TxOptions, work TxWork) (once.Result, error) {
	if err := once.CheckName("key", key); err != nil {
		return once.Result{}, err
	}
	if err := o.complete(); err != nil {
		return once.Result{}, err
	}
	var r once.Result
	err := s.retry(ctx, func() error {
		t := &transaction{store: s, opts: o, claim: once.Claim{Key: key, Owner: once.NewOwner()}}
		if o.Request != nil {
			t.claim.Fingerprint = once.Fingerprint(o.Request)
		}
		var err error
		r, err = t.run(ctx, work)
		return err
	})
	return r, err
}

// transaction is one try of DoTx.
type transaction struct {
	store *Store
	opts  TxOptions
	claim once.Claim
	tx    *sql.Tx
}

func (t *transaction) run(ctx context.Context, work TxWork) (once.Result, error) {
	return t.within(ctx, func(s once.State) (once.Result, error) { return t.do(ctx, work, s) })
}

// within begins a transaction, takes the key, and goes on with mine; or it
// returns what is known of the key.
func (t *transaction) within(ctx context.Context, mine func(once.State) (once.Result, error)) (r once.Result, err error) {
	tx, err := t.store.db.BeginTx(ctx, t.opts.Begin)
	if err != nil {
		return r, wrap("begin a transaction", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit, it does nothing
	t.tx = tx
	s, err := t.take(ctx)
	if err != nil {
		return r, err
	}
	switch s.Phase {
	case once.Done:
		return once.Result{Value: s.Value, Replayed: true, Token: s.Token, Number: s.Number}, nil
	case once.Failed:
		return r, once.NewFailedError(string(s.Value), s.Token, s.Number, nil)
	case once.Reused:
		return r, once.ErrReused
	case once.Busy:
		return r, &once.InProgressError{Left: s.Left}
	}
	return mine(s)
}

// take makes the key ours until the end of the transaction: the state is Mine
// then. It writes first, so that it waits for other transactions, and reads what
// they have committed.
func (t *transaction) take(ctx context.Context) (once.State, error) {
	say, c, keep := &t.store.say, &t.claim, micros(t.opts.Keep)
	token, err := t.insert(ctx, c.Key, int(once.Busy), c.Owner, c.Fingerprint, 0, keep, []byte{})
	if err != nil || token > 0 {
		return once.State{Phase: once.Mine, Token: token, Number: 1}, wrap("begin", err)
	}
	row, found, err := read(ctx, t.tx, say.readLocked, c.Key)
	if err == nil && !found {
		err = errSwept
	}
	if err != nil {
		return once.State{}, wrap("begin", err)
	}
	s := row.answer(c)
	if s.Phase != once.Free {
		return s, nil
	}
	s = once.State{Phase: once.Mine, Token: max(row.token+1, row.now), Number: s.Number + 1}
	_, err = t.tx.ExecContext(ctx, say.takeLocked, int(once.Busy), c.Owner, c.Fingerprint, s.Token, s.Number, 0, keep, []byte{},
		c.Key, row.token, int(row.phase), row.leaseEnds)
	return s, wrap("begin", err)
}

// insert adds the row and returns its token, or 0 when there may have been one: then
// reading tells.
func (t *transaction) insert(ctx context.Context, args ...any) (token int64, err error) {
	if t.store.dialect == MySQL {
		_, err = t.tx.ExecContext(ctx, t.store.say.begin, args...)
		return 0, err
	}
	if err = t.tx.QueryRowContext(ctx, t.store.say.begin, args...).Scan(&token); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return token, err
}

// errSwept: the row was there, and was deleted before it could be locked. It is
// no answer: the transaction is tried again.
var errSwept = errors.New("the record was deleted meanwhile")

// do runs the work and commits it with its result.
func (t *transaction) do(ctx context.Context, work TxWork, s once.State) (once.Result, error) {
	value, failure := work(ctx, t.tx, once.Attempt{Key: t.claim.Key, Token: s.Token, Number: s.Number})
	if failure == nil && len(value) > t.opts.MaxResult {
		failure = fmt.Errorf("%w: %d bytes; %d are the most", once.ErrTooLarge, len(value), t.opts.MaxResult)
	}
	if failure == nil {
		if err := t.settle(ctx, once.Done, value); err != nil {
			return once.Result{}, err
		}
		return once.Result{Value: value, Token: s.Token, Number: s.Number}, nil
	}
	message, forever := once.IsPermanent(failure)
	if !forever {
		return once.Result{}, failure
	}
	if err := t.tx.Rollback(); err != nil {
		return once.Result{}, errors.Join(failure, wrap("undo the work", err))
	}
	return t.fail(ctx, message, failure)
}

// fail keeps a failure, in a transaction of its own: that of the work is undone.
// If somebody else has come between the two, what he has recorded counts.
func (t *transaction) fail(ctx context.Context, message string, failure error) (once.Result, error) {
	return t.within(ctx, func(s once.State) (once.Result, error) {
		if err := t.settle(ctx, once.Failed, []byte(message)); err != nil {
			return once.Result{}, errors.Join(failure, err)
		}
		return once.Result{}, once.NewFailedError(message, s.Token, s.Number, failure)
	})
}

// errUndone: MySQL undoes a transaction that loses a deadlock, and SQLite one
// whose disk is full; a statement after that is a transaction of its own.
var errUndone = errors.New("the transaction has lost its key: the work ended it, or went on after an error that undid it")

// settle writes the outcome down and commits.
func (t *transaction) settle(ctx context.Context, phase once.Phase, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	r, err := t.tx.ExecContext(ctx, t.store.say.settle, int(phase), value, micros(t.opts.Keep), t.claim.Key, t.claim.Owner)
	if err != nil {
		return wrap("end", err)
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return wrap("end", errors.Join(errUndone, err))
	}
	return t.commit()
}

func (t *transaction) commit() error {
	err := t.tx.Commit()
	switch {
	case err == nil:
		return nil
	case t.store.opts.Transient(err): // the database has undone it
		return wrap("commit", err)
	}
	return fmt.Errorf("%w: %w", once.ErrUnrecorded, err)
}
