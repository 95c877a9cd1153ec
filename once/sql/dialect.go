package oncesql

import (
	"cmp"
	_ "embed"
	"strconv"
	"strings"
)

// Dialect is the SQL that a database speaks.
type Dialect int

// The dialects. There is no default.
const (
	Postgres Dialect = iota + 1 // 12 and later
	MySQL                       // 8.0 and later, and MariaDB from 10.6: it needs JSON_TABLE
	SQLite                      // 3.42 and later: it needs unixepoch('subsec')
)

var (
	//go:embed schema_postgres.sql
	schemaPostgres string
	//go:embed schema_mysql.sql
	schemaMySQL string
	//go:embed schema_sqlite.sql
	schemaSQLite string
)

// pieces are what the dialects say differently. In all statements ? is a
// parameter, NOW the server's clock in microseconds, STAMP the same where it is
// returned, PATIENCE 0, PREFIX that of the tables,
// LIST the members of a parameter that is a JSON array, as a column m, and ADD …
// OTHERWISE an INSERT that leaves rows alone that are there.
type pieces struct {
	schema     string
	now, list  string
	stamp      string // STAMP
	patience   string // PATIENCE
	insert     string // ADD
	otherwise  string // OTHERWISE
	hold       string // ends an INSERT that leaves a row alone that is there, and may lock it
	lock       string // ends a SELECT whose rows nobody else shall change
	atOnce     string // ends such a SELECT that fails at once where somebody else has the lock; or there is none
	returning  bool   // INSERT and DELETE can return rows
	deleteSome string
	dollars    bool // parameters are $1, $2 …
}

func (d Dialect) pieces() pieces {
	const firstRuns = `DELETE FROM PREFIXruns WHERE name IN (SELECT name FROM PREFIXruns WHERE expires <= NOW LIMIT ?) AND expires <= NOW`
	switch d {
	case Postgres:
		return pieces{schema: schemaPostgres, now: `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
			list: `(SELECT value AS m FROM json_array_elements_text(CAST(? AS json))) list`, insert: `INSERT INTO`,
			otherwise: ` ON CONFLICT DO NOTHING`, hold: ` ON CONFLICT DO NOTHING`, lock: ` FOR UPDATE`, returning: true, deleteSome: firstRuns, dollars: true,
			// It waits no longer than so many milliseconds for the end of a transaction.
			patience: `0 * length(set_config('lock_timeout', '20', true))`}
	case MySQL:
		return pieces{schema: schemaMySQL, now: `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
			list:   `(SELECT CAST(j.m AS BINARY) AS m FROM JSON_TABLE(?, '$[*]' COLUMNS (m VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) j) list`,
			insert: `INSERT IGNORE INTO`,
			// INSERT IGNORE would lock a row that is there as a reader, and those who wait
			// for the same row would block each other when they change it.
			hold: ` ON DUPLICATE KEY UPDATE name = VALUES(name)`, lock: ` FOR UPDATE`, atOnce: ` FOR UPDATE NOWAIT`,
			stamp:      `LAST_INSERT_ID(NOW)`, // the driver is told it: https://dev.mysql.com/doc/c-api/8.0/en/mysql-insert-id.html
			deleteSome: `DELETE FROM PREFIXruns WHERE expires <= NOW LIMIT ?`}
	case SQLite:
		return pieces{schema: schemaSQLite, now: `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`,
			list: `(SELECT value AS m FROM json_each(?)) list`, insert: `INSERT INTO`, otherwise: ` ON CONFLICT DO NOTHING`,
			hold: ` ON CONFLICT DO NOTHING`, returning: true, deleteSome: firstRuns}
	}
	return pieces{}
}

// statements are those of one store, in its dialect.
type statements struct {
	read, readLocked, probe, insert, take, takeLocked, renew, end, forget, sweep string // of runs
	begin, settle                                                                string // of DoTx
	mark, markAll, tag, tagged, marked, unmark, has, count, clear                string // of marks
	standing, toggleFirst, toggle, on                                            string // of toggles
}

func (d Dialect) statements(prefix string) statements {
	p := d.pieces()
	write := func(text string) string {
		text = strings.NewReplacer("STAMP", cmp.Or(p.stamp, "NOW"), "PATIENCE", cmp.Or(p.patience, "0")).Replace(text)
		text = strings.NewReplacer("NOW", p.now, "LIST", p.list, "ADD", p.insert, "OTHERWISE", p.otherwise, "PREFIX", prefix).Replace(text)
		if p.dollars {
			text = numbered(text)
		}
		return text
	}
	returning := func(text, column string) string {
		if p.returning {
			text += " RETURNING " + column
		}
		return write(text)
	}
	const run = `SELECT phase, owner, fingerprint, token, number, lease_ends, expires, result, NOW FROM PREFIXruns WHERE name = ?`
	const columns = ` PREFIXruns (name, phase, owner, fingerprint, token, number, lease_ends, expires, result) `
	const take = `UPDATE PREFIXruns SET phase = ?, owner = ?, fingerprint = ?, token = ?, number = ?, lease_ends = NOW + ?, expires = NOW + ? + PATIENCE,
			result = ? WHERE name = ? AND token = ? AND phase = ? AND lease_ends = ?`
	return statements{
		read:       write(run),
		readLocked: write(run + p.lock),
		probe:      write(`SELECT 1 FROM PREFIXruns WHERE name = ?`) + p.atOnce,
		insert:     returning(`ADD`+columns+`VALUES (?, ?, ?, ?, STAMP, 1, NOW + ?, NOW + ? + PATIENCE, ?)OTHERWISE`, "token"),
		take:       write(take),
		takeLocked: write(strings.ReplaceAll(take, " + PATIENCE", "")),

		renew:  write(`UPDATE PREFIXruns SET lease_ends = NOW + ?, expires = NOW + ? WHERE name = ? AND owner = ? AND phase = 1`),
		end:    write(`UPDATE PREFIXruns SET phase = ?, result = ?, expires = NOW + ? WHERE name = ? AND owner = ? AND phase = 1`),
		forget: write(`UPDATE PREFIXruns SET phase = 0, owner = '', number = 0, result = ?, expires = NOW + ? WHERE name = ? AND number > 0 AND expires > NOW`),
		sweep:  write(p.deleteSome),

		begin:  returning(`INSERT INTO`+columns+`VALUES (?, ?, ?, ?, NOW, 1, NOW + ?, NOW + ?, ?)`+p.hold, "token"),
		settle: write(`UPDATE PREFIXruns SET phase = ?, result = ?, expires = NOW + ? WHERE name = ? AND owner = ?`),

		mark:    write(`ADD PREFIXmarks (name, member, tag) VALUES (?, ?, ?)OTHERWISE`),
		markAll: returning(`ADD PREFIXmarks (name, member, tag) SELECT ?, m, ? FROM LIST`+sqliteWhere(d)+`OTHERWISE`, "member"),
		tag:     write(`SELECT tag FROM PREFIXmarks WHERE name = ? AND member = ?`),
		tagged:  write(`SELECT member FROM PREFIXmarks WHERE name = ? AND tag = ? AND member IN (SELECT m FROM LIST)`),
		marked:  write(`SELECT member FROM PREFIXmarks WHERE name = ? AND member IN (SELECT m FROM LIST)` + p.lock),
		unmark:  returning(`DELETE FROM PREFIXmarks WHERE name = ? AND member IN (SELECT m FROM LIST)`, "member"),
		has:     write(`SELECT member FROM PREFIXmarks WHERE name = ? AND member IN (SELECT m FROM LIST)`),
		count:   write(`SELECT COUNT(*) FROM PREFIXmarks WHERE name = ?`),
		clear:   write(`DELETE FROM PREFIXmarks WHERE name = ?`),

		standing:    write(`SELECT is_on, seq FROM PREFIXtoggles WHERE name = ? AND member = ?`),
		toggleFirst: write(`ADD PREFIXtoggles (name, member, is_on, seq) VALUES (?, ?, ?, ?)OTHERWISE`),
		toggle:      write(`UPDATE PREFIXtoggles SET is_on = ?, seq = ? WHERE name = ? AND member = ? AND is_on = ? AND seq = ?`),
		on:          write(`SELECT COUNT(*) FROM PREFIXtoggles WHERE name = ? AND is_on = 1`),
	}
}

// sqliteWhere: SQLite takes the ON of ON CONFLICT for that of a join, unless a
// WHERE comes between (https://www.sqlite.org/lang_upsert.html, "Parsing Ambiguity").
func sqliteWhere(d Dialect) string {
	if d == SQLite {
		return " WHERE true"
	}
	return ""
}

// numbered writes the parameters of a statement as $1, $2 and so on. No statement
// has a question mark that is none.
func numbered(text string) string {
	parts := strings.Split(text, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}
