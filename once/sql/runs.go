package oncesql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"rushgate/once"
)

// run is a row of runs, and the server's clock when it was read.
type run struct {
	phase                   once.Phase
	owner, fingerprint      string
	token                   int64
	number                  int
	leaseEnds, expires, now int64 // microseconds
	result                  []byte
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// read reads a row; there is none when found is false.
func read(ctx context.Context, q querier, statement, key string) (r run, found bool, err error) {
	err = q.QueryRowContext(ctx, statement, key).
		Scan(&r.phase, &r.owner, &r.fingerprint, &r.token, &r.number, &r.leaseEnds, &r.expires, &r.result, &r.now)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// state returns what the row says now. A row that has expired says nothing, but
// its token counts.
func (r *run) state() once.State {
	s := once.State{Phase: r.phase, Token: r.token, Number: r.number}
	switch {
	case r.expires <= r.now:
		s.Phase, s.Number = once.Free, 0
	case r.phase == once.Busy && r.leaseEnds <= r.now:
		s.Phase = once.Free
	case r.phase == once.Busy:
		s.Left = time.Duration(r.leaseEnds-r.now) * time.Microsecond
	case r.phase != once.Free:
		s.Value = r.result
	}
	return s
}

// answer returns the state that Begin answers with; Free: the caller may take it.
func (r *run) answer(c *once.Claim) once.State {
	s := r.state()
	if r.owner == c.Owner && r.phase == once.Busy {
		return once.State{Phase: once.Mine, Token: r.token, Number: r.number}
	}
	if r.phase != once.Free && r.expires > r.now && r.fingerprint != c.Fingerprint {
		return once.State{Phase: once.Reused, Token: r.token, Number: r.number}
	}
	return s
}

// Begin implements once.Store. It reads, and changes only what is still as it was
// read; the moments are the server's. What a transaction of DoTx has written, reading
// does not see: it shows when writing has to wait. The key is Busy then.
func (s *Store) Begin(ctx context.Context, c once.Claim) (once.State, error) {
	for range mostTries {
		r, found, err := read(ctx, s.db, s.say.read, c.Key)
		if err != nil {
			return once.State{}, wrap("begin", err)
		}
		if found {
			if state := r.answer(&c); state.Phase != once.Free {
				return state, nil
			}
		}
		if err = s.probe(ctx, c.Key); err == nil {
			next := once.State{Phase: once.Mine, Token: max(r.token+1, r.now), Number: r.state().Number + 1}
			if found {
				found, err = s.take(ctx, &c, &r, &next)
			} else {
				found, err = s.insert(ctx, &c, &next)
			}
			if err == nil && found {
				return next, nil
			}
		}
		if s.held(ctx, err) {
			return once.State{Phase: once.Busy}, nil
		}
		if err != nil {
			return once.State{}, wrap("begin", err)
		}
	}
	return once.State{}, errors.New("once: begin: others change the record all the time")
}

// probe fails when a transaction has the record of a key, where writing could not be
// told to wait for a short time only: a server whose client has gone would go on
// waiting, and then take the key for nobody.
func (s *Store) probe(ctx context.Context, key string) error {
	if s.dialect != MySQL {
		return nil
	}
	var one int
	err := s.db.QueryRowContext(ctx, s.say.probe, key).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// insert adds a record, unless there is one, and says whether it has.
func (s *Store) insert(ctx context.Context, c *once.Claim, next *once.State) (added bool, err error) {
	lease := micros(c.Lease)
	args := []any{c.Key, int(once.Busy), c.Owner, c.Fingerprint, lease, lease + micros(once.Idle), []byte{}}
	err = s.retry(ctx, func() (err error) {
		if s.dialect != MySQL {
			err = s.db.QueryRowContext(ctx, s.say.insert, args...).Scan(&next.Token)
			if added = err == nil; errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}
		r, err := s.db.ExecContext(ctx, s.say.insert, args...)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if err == nil && n == 1 {
			next.Token, err = r.LastInsertId()
		}
		added = err == nil && n == 1 && next.Token > 0
		return err
	})
	return added, err
}

// take makes a record that is free that of an attempt, if it is still as it was read.
func (s *Store) take(ctx context.Context, c *once.Claim, r *run, next *once.State) (bool, error) {
	lease := micros(c.Lease)
	var n int64
	err := s.retry(ctx, func() error {
		done, err := s.db.ExecContext(ctx, s.say.take, int(once.Busy), c.Owner, c.Fingerprint, next.Token, next.Number, lease, lease+micros(once.Idle),
			[]byte{}, c.Key, r.token, int(r.phase), r.leaseEnds)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	return n == 1, err
}

// Renew implements once.Store.
func (s *Store) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	n, err := s.affected(ctx, "renew", s.say.renew, micros(lease), micros(lease)+micros(once.Idle), key, owner)
	return n == 1, err
}

// End implements once.Store.
func (s *Store) End(ctx context.Context, key, owner string, o once.Outcome) (bool, error) {
	keep, value := micros(o.Keep), o.Value
	if o.Phase == once.Free {
		keep = micros(once.Idle)
	}
	if value == nil {
		value = []byte{}
	}
	n, err := s.affected(ctx, "end", s.say.end, int(o.Phase), value, keep, key, owner)
	if err != nil || n == 1 {
		return n == 1, err
	}
	r, found, err := read(ctx, s.db, s.say.read, key)
	return found && r.owner == owner && r.phase == o.Phase, wrap("end", err)
}

// Look implements once.Store.
func (s *Store) Look(ctx context.Context, key string) (once.State, error) {
	r, found, err := read(ctx, s.db, s.say.read, key)
	if err != nil || !found {
		return once.State{}, wrap("look", err)
	}
	return r.state(), nil
}

// Forget implements once.Store. The row stays for a while, so that the next
// token is a greater one.
func (s *Store) Forget(ctx context.Context, key string) (bool, error) {
	n, err := s.affected(ctx, "forget", s.say.forget, []byte{}, micros(once.Idle), key)
	return n == 1, err
}

// Watch implements once.Store: a database cannot tell through database/sql, so
// those who wait ask, at distances that grow to half a second or so.
func (s *Store) Watch(context.Context, string) (<-chan struct{}, func(), error) {
	return nil, func() {}, nil
}

// longest stands for ever.
const longest = 200 * 365 * 24 * time.Hour

// micros writes a duration in microseconds.
func micros(d time.Duration) int64 { return int64(min(d, longest) / time.Microsecond) }
