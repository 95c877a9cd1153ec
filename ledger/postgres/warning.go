package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// warned is where a connection keeps the server's latest warning.
const warned = "warning"

// hear keeps a warning until commitCleanly looks for it.
func hear(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = n
	}
}

// commitCleanly sends COMMIT. It has gone well only if the server has nothing to
// add. When somebody has cancelled the wait for a synchronous standby, the server
// answers COMMIT too: the transaction is on its own disk, and nowhere else. All
// that tells is a warning, whose words depend on the server's language.
func commitCleanly(ctx context.Context, conn *pgx.Conn) error {
	said := conn.PgConn().CustomData()
	delete(said, warned)
	tag, err := conn.Exec(ctx, `COMMIT`)
	if err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return fmt.Errorf("the server answered %s", tag)
	}
	if w, ok := said[warned].(*pgconn.Notice); ok {
		return fmt.Errorf("the server has committed with a warning: %s", w.Message)
	}
	return nil
}
