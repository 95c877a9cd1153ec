package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// tx is a transaction on one connection.
//
// A statement whose answer nobody needs before the next one waits in the script,
// which travels as a whole: most batches are two round trips, the second one
// being COMMIT. What must be true of each statement is looked at when the answers
// have come. When the server refuses one of them, it does not say which; the
// transaction is then done once more, each statement alone.
type tx struct {
	ctx   context.Context // is not cancelled: see Ledger.attempt
	conn  *sql.Conn
	alone bool

	script []statement
	bytes  int
}

type statement struct {
	text    string
	args    []driver.NamedValue
	verdict verdict
}

// verdict looks at how many rows a statement found, or why it was refused.
// A nil verdict takes any number, and no refusal.
type verdict func(rows int64, refused error) error

// found is the verdict of a statement that must find its row.
func found(otherwise func() error) verdict {
	return func(rows int64, refused error) error {
		if refused == nil && rows == 0 {
			return otherwise()
		}
		return refused
	}
}

// maxScript bounds a script, in bytes of its text and parameters: servers refuse
// what is longer than their max_allowed_packet, 16 MiB or more by default.
const maxScript = 1 << 20

// errTogether marks that the server refused one of several statements.
var errTogether = errors.New("one of several statements was refused")

// add appends a statement to the script.
func (t *tx) add(v verdict, text string, args ...any) error {
	values := make([]driver.NamedValue, len(args))
	size := len(text)
	for i, a := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return err
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
		if s, ok := value.(string); ok {
			size += len(s)
		}
	}
	if t.bytes > 0 && t.bytes+size > maxScript {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.script = append(t.script, statement{text, values, v})
	t.bytes += size
	if t.alone {
		return t.flush()
	}
	return nil
}

// flush sends the script, and judges the answers.
func (t *tx) flush() error {
	script := t.script
	if len(script) == 0 {
		return nil
	}
	t.script, t.bytes = nil, 0
	text := make([]byte, 0, 4096)
	var args []driver.NamedValue
	for i := range script {
		if i > 0 {
			text = append(text, ';')
		}
		text = append(text, script[i].text...)
		args = append(args, script[i].args...)
	}
	rows, refused := t.send(string(text), args)
	if refused != nil && (number(refused) == 0 || temporary(refused)) {
		return refused // not an answer to what was asked
	}
	if refused != nil && len(script) > 1 {
		return fmt.Errorf("%w: %w", errTogether, refused)
	}
	if refused == nil && len(rows) != len(script) {
		return fmt.Errorf("%d statements have %d answers", len(script), len(rows))
	}
	for i, s := range script {
		if s.verdict == nil {
			if refused != nil {
				return refused
			}
			continue
		}
		var n int64
		if refused == nil {
			n = rows[i]
		}
		if err := s.verdict(n, refused); err != nil {
			return err
		}
	}
	return nil
}

// send sends statements and returns how many rows each of them found.
func (t *tx) send(text string, args []driver.NamedValue) (rows []int64, err error) {
	err = t.conn.Raw(func(conn any) error {
		result, err := conn.(driver.ExecerContext).ExecContext(t.ctx, text, args)
		if err == nil {
			rows = result.(mysql.Result).AllRowsAffected()
		}
		return err
	})
	return rows, err
}

// QueryContext asks, after the script was sent. With it and QueryRowContext, a
// transaction is a reader.
func (t *tx) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	return t.conn.QueryContext(t.ctx, query, args...)
}

// QueryRowContext asks for one row. The script must have been sent.
func (t *tx) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	return t.conn.QueryRowContext(t.ctx, query, args...)
}

// rollback ends the transaction so that nothing of it is kept. Where that cannot
// be said to the server, the end of the connection says it.
func (t *tx) rollback() {
	if _, err := t.send(`ROLLBACK`, nil); err != nil {
		t.drop()
	}
}

// drop closes the connection: nobody else may get it with what it has begun.
func (t *tx) drop() {
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
}
