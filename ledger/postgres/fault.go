package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"rushgate"
)

// ErrNewer marks the error of Open when a newer Rushgate made the tables.
var ErrNewer = errors.New("made by a newer Rushgate")

// ErrGone marks an error that says that the tables were removed or replaced
// while the ledger was open: the program should stop.
var ErrGone error = lost("the ledger's tables were removed or replaced")

// ErrCorrupt marks an error that says that the server has found its files
// damaged: the program should stop.
var ErrCorrupt error = lost("the ledger's database is damaged")

// lost is an error that is rushgate.ErrLost.
type lost string

// Error implements error.
func (l lost) Error() string { return string(l) }

// Is makes the error one that a service stops for.
func (lost) Is(target error) bool { return target == rushgate.ErrLost }

// The codes that the server gives its errors (PostgreSQL's manual, appendix A).
const (
	codeUnique       = "23505"
	codeCheck        = "23514"
	codeDeadlock     = "40P01"
	codeSerialize    = "40001"
	codeUnknownEnd   = "40003"
	codeLockTimeout  = "55P03"
	codeCancelled    = "57014"
	codeReadOnly     = "25006"
	codeNoRight      = "42501"
	codeNoTable      = "42P01"
	codeNoParameter  = "42704"
	codeBadPassword  = "28P01"
	codeBadUser      = "28000"
	codeNoDatabase   = "3D000"
	codeTooMany      = "53300"
	codeStarting     = "57P03"
	codeCorrupt      = "XX001"
	codeCorruptIndex = "XX002"
)

// codeOf returns the server's code of an error, "" for errors of other origin.
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// constraint returns the constraint that an error names, and what it says of it.
func constraint(err error) (name, detail string) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return "", ""
	}
	if e.Detail == "" {
		return e.ConstraintName, e.Message
	}
	return e.ConstraintName, e.Detail
}

// definite says that a COMMIT that failed with err has certainly not happened:
// the server itself says that it has rolled back. Everything else, above all a
// broken connection, may have come after the commit.
func definite(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.SeverityUnlocalized != "ERROR" {
		return false
	}
	switch e.Code[:2] {
	case "40", "23":
		return e.Code != codeUnknownEnd
	}
	return false
}

// again says that the server chose this transaction to end a deadlock or the
// like, so that the same batch may well succeed.
func again(err error) bool {
	switch codeOf(err) {
	case codeDeadlock, codeSerialize:
		return true
	}
	return false
}

// stale says that the connections that are open are of no more use: they are
// broken, or lead to a server that takes no writes any more.
func stale(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.SeverityUnlocalized == "FATAL" || e.Code == codeReadOnly
	}
	var n net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &n) && !n.Timeout()
}

// wrap names the operation that failed, and says what is to be done.
func (l *Ledger) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	var barrier *rushgate.BarrierError
	var refusal *rushgate.Error
	if errors.As(err, &barrier) || errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("%s: %w", what, l.target.explain(err))
}

// explain turns what went wrong with the server into one line that says how to
// mend it.
func (t *target) explain(err error) error {
	switch code := codeOf(err); {
	case errors.Is(err, ErrNewer), errors.Is(err, ErrGone), errors.Is(err, errExplained):
		return err
	case code != "":
		return t.explainCode(code, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time: %w", t, oneLine(err))
	}
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return oneLine(err)
	}
	var untrusted *tls.CertificateVerificationError
	var wrongName x509.HostnameError
	switch {
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return fmt.Errorf("the server at %s does not speak TLS: switch ssl on there, or say sslmode=disable in the ledger's address (%w)", t.address(), oneLine(err))
	case errors.As(err, &untrusted), errors.As(err, &wrongName):
		return fmt.Errorf("the server at %s shows a certificate that is not trusted: name the one that vouches for it with sslrootcert=FILE in the ledger's address (%w)", t.address(), oneLine(err))
	}
	return fmt.Errorf("no PostgreSQL answers at %s: start it, or mend host and port in the ledger's address (%w)", t.address(), oneLine(err))
}

// errExplained marks an error that says already what to do.
var errExplained = errors.New("the ledger cannot be used")

func (t *target) explainCode(code string, err error) error {
	var say string
	switch code {
	case codeBadPassword:
		say = fmt.Sprintf("the server at %s refuses the password of user %q: mend it in the ledger's address", t.address(), t.user())
	case codeBadUser:
		say = fmt.Sprintf("the server at %s refuses user %q: mend the user or sslmode in the ledger's address, or pg_hba.conf on the server", t.address(), t.user())
	case codeNoDatabase:
		say = fmt.Sprintf("the server at %s has no database %q: make it (CREATE DATABASE), or mend its name in the ledger's address", t.address(), t.config.ConnConfig.Database)
	case codeTooMany:
		say = fmt.Sprintf("the server at %s has no connection left: raise its max_connections, or let fewer nodes and programs use it", t.address())
	case codeStarting:
		say = fmt.Sprintf("the server at %s is starting or stopping: try again", t.address())
	case codeNoRight:
		say = fmt.Sprintf("user %q may not do this in %s: let the owner of the database say GRANT ALL ON SCHEMA public TO %[1]q, and GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO %[1]q", t.user(), t)
	case codeReadOnly:
		say = fmt.Sprintf("the server at %s takes no writes: name the primary in the ledger's address, or mend default_transaction_read_only", t.address())
	case codeNoParameter:
		say = "the ledger's address has a setting that the server does not know"
	case codeLockTimeout:
		say = "somebody else has held a row that is needed for too long: look into pg_stat_activity for a transaction that does not end"
	case codeCancelled:
		say = "the server did not get through it in time"
	case codeNoTable:
		return fmt.Errorf("%w: %s: %w", ErrGone, t, err)
	case codeCorrupt, codeCorruptIndex:
		return fmt.Errorf("%w: %s: restore it from a backup (%w)", ErrCorrupt, t, err)
	default:
		return oneLine(err)
	}
	return fmt.Errorf("%s (%w)", say, oneLine(err))
}
