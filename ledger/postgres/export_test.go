package postgres

import "context"

// ShortConnections is how many connections there are for short reads.
const ShortConnections = shortConnections

// Setting reads a setting of the sessions that record batches.
func (l *Ledger) Setting(ctx context.Context, name string) (value string, err error) {
	err = l.w.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}
