package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the driver
)

// books4 asks a ledger for the fields of books.
const books4 = `
		SELECT (SELECT count(*) FROM claims WHERE sale = 'bench' AND state IN ('held', 'confirmed')),
		       (SELECT count(DISTINCT user_id) FROM claims WHERE sale = 'bench' AND state IN ('held', 'confirmed')),
		       (SELECT sum(taken) FROM items WHERE sale = 'bench'),
		       (SELECT sum(total) FROM items WHERE sale = 'bench')`

// books is what a database says after a measurement.
type books struct {
	recorded, users, taken, total int64
}

// check reads the database of a stopped system with plain SQL and holds it
// against what was acknowledged. Up to inFlight requests may have been granted
// without anybody having read the answer: those that wrk cut off at its end.
// It returns what was recorded, and why the run is void, if it is.
func (s *server) check(ctx context.Context, acknowledged, inFlight int64) (recorded int64, void string, err error) {
	var b books
	switch s.system {
	case sysRushgate:
		b, err = s.rushgateBooks(ctx)
	case sysCluster:
		b, err = s.clusterBooks()
	case sysSQLRow:
		b, err = s.sqlRowBooks(ctx)
	default:
		return acknowledged, "", nil // nothing was written down
	}
	if err != nil {
		return 0, "", fmt.Errorf("read the database of %s: %w", s.system, err)
	}
	return b.recorded, b.against(acknowledged, inFlight), nil
}

// against says what is wrong, or nothing.
func (b *books) against(acknowledged, inFlight int64) string {
	switch {
	case b.recorded < acknowledged:
		return fmt.Sprintf("LOST: %d claims acknowledged, %d recorded", acknowledged, b.recorded)
	case b.recorded > acknowledged+inFlight:
		return fmt.Sprintf("%d claims recorded, %d acknowledged, at most %d in flight", b.recorded, acknowledged, inFlight)
	case b.taken != b.recorded:
		return fmt.Sprintf("stock rows say %d taken, there are %d claims", b.taken, b.recorded)
	case b.taken > b.total:
		return fmt.Sprintf("OVERSOLD: %d taken of %d", b.taken, b.total)
	case b.users != b.recorded:
		return fmt.Sprintf("%d claims of %d users, though each may have one", b.recorded, b.users)
	}
	return ""
}

func (s *server) rushgateBooks(ctx context.Context) (b books, err error) {
	err = query(ctx, filepath.Join(s.data, "ledger", "rushgate.db"), books4, &b.recorded, &b.users, &b.taken, &b.total)
	return b, err
}

// clusterBooks reads the same of PostgreSQL, with psql.
func (s *server) clusterBooks() (b books, err error) {
	said, err := s.postgres.SQL(database, strings.ReplaceAll(books4, "SELECT (", "SELECT concat_ws(' ', (")+")")
	if err == nil {
		_, err = fmt.Sscan(said, &b.recorded, &b.users, &b.taken, &b.total)
	}
	return b, err
}

func (s *server) sqlRowBooks(ctx context.Context) (b books, err error) {
	var left int64
	err = query(ctx, filepath.Join(s.data, "baseline.db"), `
		SELECT (SELECT count(*) FROM claims), (SELECT count(DISTINCT user_id) FROM claims), (SELECT sum(stock) FROM items)`,
		&b.recorded, &b.users, &left)
	b.total, b.taken = manyUnits, manyUnits-left
	return b, err
}

func query(ctx context.Context, file, statement string, into ...any) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRowContext(ctx, statement).Scan(into...)
}
