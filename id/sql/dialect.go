package sql

import (
	"database/sql"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Dialect is which SQL a database speaks.
type Dialect int

// The dialects.
const (
	Postgres Dialect = iota + 1
	MySQL            // and MariaDB
	SQLite
)

var (
	//go:embed schema_postgres.sql
	postgresSchema string
	//go:embed schema_mysql.sql
	mysqlSchema string
	//go:embed schema_sqlite.sql
	sqliteSchema string
)

// Schema returns the statements that make the tables, for those who keep their
// migrations themselves.
func Schema(d Dialect) (string, error) {
	switch d {
	case Postgres:
		return postgresSchema, nil
	case MySQL:
		return mysqlSchema, nil
	case SQLite:
		return sqliteSchema, nil
	}
	return "", fmt.Errorf("id/sql: dialect %d: must be Postgres, MySQL or SQLite", d)
}

// statements are those of a dialect. look must come after lock, so that its clock
// is not older than what it reads: each statement has the time of its own.
type statements struct {
	isolation sql.IsolationLevel

	register, lock, look, all, one, found, write string
}

func (d Dialect) statements() statements {
	s := statements{
		isolation: sql.LevelReadCommitted,
		register:  "INSERT INTO id_registers (name, layout, floor_ms, turn) VALUES (?, '', 0, 0) ON CONFLICT DO NOTHING",
		lock:      "UPDATE id_registers SET turn = turn + 1 WHERE name = ?",
		all:       "SELECT number, owner, from_ms, until_ms FROM id_numbers WHERE name = ?",
		one:       "SELECT number, owner, from_ms, until_ms FROM id_numbers WHERE name = ? AND number = ?",
		found:     "UPDATE id_registers SET layout = ?, floor_ms = ? WHERE name = ?",
		write: "INSERT INTO id_numbers (name, number, owner, from_ms, until_ms) VALUES (?, ?, ?, ?, ?)" +
			" ON CONFLICT (name, number) DO UPDATE SET owner = excluded.owner, from_ms = excluded.from_ms, until_ms = excluded.until_ms",
	}
	const look = "SELECT %s, layout, floor_ms FROM id_registers WHERE name = ?"
	switch d {
	case Postgres:
		s.look = fmt.Sprintf(look, "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)")
		s.register, s.lock, s.look, s.all = numbered(s.register), numbered(s.lock), numbered(s.look), numbered(s.all)
		s.one, s.found, s.write = numbered(s.one), numbered(s.found), numbered(s.write)
	case MySQL:
		// Not UNIX_TIMESTAMP, which is ambiguous when summer time ends.
		s.look = fmt.Sprintf(look, "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000")
		s.register = "INSERT IGNORE INTO id_registers (name, layout, floor_ms, turn) VALUES (?, '', 0, 0)"
		s.write = "INSERT INTO id_numbers (name, number, owner, from_ms, until_ms) VALUES (?, ?, ?, ?, ?)" +
			" ON DUPLICATE KEY UPDATE owner = VALUES(owner), from_ms = VALUES(from_ms), until_ms = VALUES(until_ms)"
	case SQLite:
		s.isolation = sql.LevelDefault
		s.look = fmt.Sprintf(look, "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)")
	}
	return s
}

// numbered writes placeholders as PostgreSQL wants them.
func numbered(statement string) string {
	parts := strings.Split(statement, "?")
	for i := range parts[1:] {
		parts[i] += "$" + strconv.Itoa(i+1)
	}
	return strings.Join(parts, "")
}
