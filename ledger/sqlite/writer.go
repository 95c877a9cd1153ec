package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// writer is the one connection that writes, with its statements prepared.
// Whoever uses it holds Ledger.mu.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts []*sql.Stmt // all of those below

	begin, commit, rollback *sql.Stmt

	batch, event, seq, seqFenced, epochOf *sql.Stmt
	claims, wideClaims, take, overLimit   *sql.Stmt
	moveLive, moveDue, give               *sql.Stmt
	saleNew, itemNew, saleSet, restock    *sql.Stmt
	fence, revoke                         *sql.Stmt
}

const (
	sqlBatch = `INSERT INTO batches (id, at) VALUES (?, ?)`
	sqlEvent = `INSERT INTO events (sale, seq, n, kind, at, batch, claims, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

	sqlSeq       = `UPDATE sales SET last_seq = last_seq + ? WHERE id = ? RETURNING last_seq`
	sqlSeqFenced = `UPDATE sales SET last_seq = last_seq + ? WHERE id = ? AND epoch = ? RETURNING last_seq`
	sqlEpochOf   = `SELECT epoch FROM sales WHERE id = ?`
	sqlFence     = `UPDATE sales SET epoch = epoch + 1 WHERE id = ?1 AND ?2 IN (0, epoch) RETURNING ` + saleColumns

	sqlTake = `UPDATE items SET taken = taken + ?1, confirmed = confirmed + ?2
		WHERE sale = ?3 AND round = 1 AND item = ?4 AND taken + ?1 <= total`
	sqlGive = `UPDATE items SET taken = taken + ?1, confirmed = confirmed + ?2
		WHERE sale = ?3 AND round = 1 AND item = ?4`

	// The units of the users of a batch, after it. The unique index finds
	// them by (sale, round, user_id).
	sqlOverLimit = `SELECT user_id, sum(quantity) FROM claims
		WHERE sale = ?1 AND round = 1 AND state IN ('held', 'confirmed')
		AND user_id IN (SELECT value FROM json_each(?2))
		GROUP BY user_id HAVING sum(quantity) > ?3 LIMIT 1`

	sqlSaleNew = `INSERT INTO sales (id, name, opens_at, closes_at, per_user, hold_ms, ack, frozen, ended, epoch, version, shards, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlItemNew = `INSERT INTO items (sale, round, item, position, name, total) VALUES (?, 1, ?, ?, ?, ?)`
	sqlSaleSet = `UPDATE sales SET name = ?2, opens_at = ?3, closes_at = ?4, per_user = ?5, hold_ms = ?6,
		ack = ?7, frozen = ?8, ended = ?9, version = ?10
		WHERE id = ?1 AND ?11 IN (0, version) AND ?12 IN (0, epoch) RETURNING epoch, shards, created_at`
	sqlRestock = `UPDATE items SET total = total + ?1
		WHERE sale = ?2 AND round = 1 AND item = ?3 AND total + ?1 BETWEEN taken AND ?4`
)

func openWriter(ctx context.Context, dir string, o Options) (*writer, error) {
	db, err := openPool(dir, 1, "", writerPragmas(o)...)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db}
	if err := w.prepare(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) prepare(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn = conn
	var mode string
	if err := conn.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("this file system does not bear a write-ahead log (journal mode %q): use a local disk", mode)
	}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.begin, `BEGIN IMMEDIATE`}, {&w.commit, `COMMIT`}, {&w.rollback, `ROLLBACK`},
		{&w.batch, sqlBatch}, {&w.event, sqlEvent},
		{&w.seq, sqlSeq}, {&w.seqFenced, sqlSeqFenced}, {&w.epochOf, sqlEpochOf}, {&w.fence, sqlFence}, {&w.revoke, sqlRevoke},
		{&w.claims, sqlClaims}, {&w.wideClaims, sqlWideClaims}, {&w.take, sqlTake}, {&w.overLimit, sqlOverLimit},
		{&w.moveLive, sqlMoveLive}, {&w.moveDue, sqlMoveDue}, {&w.give, sqlGive},
		{&w.saleNew, sqlSaleNew}, {&w.itemNew, sqlItemNew}, {&w.saleSet, sqlSaleSet}, {&w.restock, sqlRestock},
	} {
		if *s.to, err = conn.PrepareContext(ctx, s.sql); err != nil {
			return err
		}
		w.stmts = append(w.stmts, *s.to)
	}
	return nil
}

// close closes the connection; a transaction that is still open is rolled
// back. database/sql does not close the statements of a single connection by
// itself, and while one of them is open, SQLite keeps the connection open
// behind our back, with its locks.
func (w *writer) close() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}
