package baseline

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

// SQLRow is baseline (c): one transaction for each claim, with the conditional
// update that every textbook shows and an order row, on SQLite with full
// durability. It is correct, and every claim waits for the disk alone.
type SQLRow struct {
	db     *sql.DB
	lastID atomic.Int64
}

const schema = `
CREATE TABLE items  (id TEXT PRIMARY KEY, stock INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (id INTEGER PRIMARY KEY, item TEXT NOT NULL, user_id TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL);`

// item is the only thing that this baseline sells.
const item = "item"

// NewSQLRow makes a database in a folder.
func NewSQLRow(ctx context.Context, dir string, stock int64) (*SQLRow, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "baseline.db")+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, fmt.Errorf("open the baseline's database: %w", err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer; more connections only wait for its lock
	if _, err = db.ExecContext(ctx, schema); err == nil {
		_, err = db.ExecContext(ctx, `INSERT INTO items VALUES (?, ?)`, item, stock)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("prepare the baseline's database: %w", err)
	}
	b := &SQLRow{db: db}
	b.lastID.Store(time.Now().UnixNano())
	return b, nil
}

// Close ends the database.
func (b *SQLRow) Close() error { return b.db.Close() }

// Handler serves the claim endpoint.
func (b *SQLRow) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(route, b.claim)
	return mux
}

func (b *SQLRow) claim(w http.ResponseWriter, r *http.Request) {
	c, ok := decode(w, r)
	if !ok {
		return
	}
	id := b.lastID.Add(1)
	code, err := b.sell(r.Context(), id, &c)
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "unavailable")
	case code != "":
		refuse(w, http.StatusConflict, code)
	default:
		grant(w, r.PathValue("sale"), &c, id)
	}
}

// sell takes a unit and writes the order in one transaction. It returns why it
// refuses, or nothing when it sold.
func (b *SQLRow) sell(ctx context.Context, id int64, c *claim) (code string, err error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback() // after a commit it does nothing
	done, err := tx.ExecContext(ctx, `UPDATE items SET stock = stock - 1 WHERE id = ? AND stock > 0`, item)
	if err != nil {
		return "", err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return "sold_out", err
	}
	done, err = tx.ExecContext(ctx, `INSERT INTO claims VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO NOTHING`,
		id, item, c.User, time.Now().UnixMilli())
	if err != nil {
		return "", err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return "limit_reached", err
	}
	return "", tx.Commit()
}
