package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"rushgate"
)

// ErrNewer marks the error of Open when a newer Rushgate wrote the tables.
var ErrNewer = errors.New("made by a newer Rushgate")

// lost is an error that is rushgate.ErrLost.
type lost string

// Error implements error.
func (l lost) Error() string { return string(l) }

// Is makes the error one that a service stops for.
func (lost) Is(target error) bool { return target == rushgate.ErrLost }

const (
	errOther lost = "the ledger was exchanged"
	errGone  lost = "the ledger's tables are damaged or gone"
)

// The numbers of the errors that the ledger tells apart, in both families.
const (
	erTooManyConnections = 1040
	erNoDatabaseRight    = 1044
	erWrongPassword      = 1045
	erNoSuchDatabase     = 1049
	erServerStops        = 1053
	erDuplicate          = 1062
	erHostBlocked        = 1129
	erHostNotAllowed     = 1130
	erNoTableRight       = 1142
	erNoColumnRight      = 1143
	erNoSuchTable        = 1146
	erPacketTooLarge     = 1153
	erUserTooMany        = 1203
	erLockWait           = 1205
	erDeadlock           = 1213
	erUserLimit          = 1226
	erNoRight            = 1227
	erReadOnlyOption     = 1290
	erBinlogFormat       = 1665
	erWrongPlugin        = 1698
	erCorruptIndex       = 1712
	erReadOnlySession    = 1792
	erTablespaceMissing  = 1812
	erReadOnlyMode       = 1836
	erKilled             = 1927 // MariaDB
	erNoTableInEngine    = 1932 // MariaDB
	erChangedMeanwhile   = 1020
	erTLSRequired        = 3159
	erCheckMySQL         = 3819
	erCertified          = 3101 // MySQL: group replication refused the commit
	erCheckMariaDB       = 4025
)

// number returns the server's number of an error, 0 for errors of other origin.
func number(err error) int {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return int(e.Number)
	}
	return 0
}

// wrap names the operation that failed, and marks what will not recover.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	var barrier *rushgate.BarrierError
	var refusal *rushgate.Error
	switch {
	case errors.As(err, &barrier), errors.As(err, &refusal):
		return err
	case gone(err):
		return fmt.Errorf("%s: %w: %w", what, errGone, err)
	}
	if hint := mend(err); hint != "" {
		return fmt.Errorf("%s: %s (%w)", what, hint, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// gone says that the tables of an open ledger are not there any more, or that
// the server met something in them that it cannot have written.
func gone(err error) bool {
	switch number(err) {
	case erNoSuchTable, erNoSuchDatabase, erNoTableInEngine, erCorruptIndex, erTablespaceMissing:
		return true
	}
	return false
}

// mend says what to do about an error that may come at any time, or "".
func mend(err error) string {
	switch number(err) {
	case erTooManyConnections, erUserTooMany, erUserLimit:
		return "the server takes no more connections: raise its max_connections (or the user's MAX_USER_CONNECTIONS), or run fewer nodes"
	case erReadOnlyOption, erReadOnlyMode, erReadOnlySession:
		return "the server is read-only: name the one that takes writes, or end its read_only"
	}
	if forbidden(err) {
		return "the user may not do this: grant SELECT, INSERT and UPDATE on the database, and CREATE for the first start"
	}
	switch number(err) {
	case erPacketTooLarge:
		return "the server refuses long statements: set its max_allowed_packet to 16M or more"
	case erBinlogFormat:
		return "the server keeps its binary log by statement: set its binlog_format to ROW or MIXED"
	}
	return ""
}

// forbidden says that the user lacks a right.
func forbidden(err error) bool {
	switch number(err) {
	case erNoDatabaseRight, erNoTableRight, erNoColumnRight, erNoRight:
		return true
	}
	return false
}

// definite says that a COMMIT that failed with err has certainly not happened:
// it was never sent, or the server says that it refused it before it began.
func definite(err error) bool {
	if errors.Is(err, driver.ErrBadConn) {
		return true
	}
	switch number(err) {
	case erDeadlock, erReadOnlyOption, erReadOnlyMode, erCertified:
		return true
	}
	return false
}

// severed says that the connection was lost, or that nothing could be sent.
func severed(err error) bool {
	switch number(err) {
	case erServerStops, erKilled:
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn)
}

// unreachable marks an error of connecting, so that it is not mistaken for one
// of the statement that was to come.
func unreachable(err error) error {
	if number(err) != 0 || secured(err) {
		return err
	}
	return &noServer{err}
}

// noServer is that nobody answers, or not as a server does.
type noServer struct{ cause error }

func (e *noServer) Error() string { return "the database server cannot be reached: " + e.cause.Error() }

func (e *noServer) Unwrap() error { return e.cause }

// secured says that connecting failed over TLS.
func secured(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &host) ||
		errors.Is(err, mysql.ErrNoTLS)
}

// explain turns what went wrong at the opening of a ledger into one line that
// says how to mend it.
func (a *address) explain(err error) error {
	var away *noServer
	var dns *net.DNSError
	switch n := number(err); {
	case err == nil:
		return nil
	case errors.Is(err, ErrNewer), errors.Is(err, errOlder):
		return fmt.Errorf("%s was %w", a.place(), err)
	case errors.As(err, &dns):
		return fmt.Errorf("%s: the host is not known: correct it in the URL (%w)", a.place(), err)
	case errors.As(err, &away):
		return fmt.Errorf("%s: nobody answers there: start the server, or correct host and port in the URL (%w)", a.place(), err)
	case secured(err):
		return fmt.Errorf("%s: no TLS with this server: correct tls and tls-ca in the URL, or the server's certificate (%w)", a.place(), err)
	case n == erTLSRequired:
		return fmt.Errorf("%s: the server asks for TLS: add ?tls=true to the URL (%w)", a.place(), err)
	case n == erWrongPassword, n == erWrongPlugin:
		if a.config.TLS == nil { // MariaDB says no more of a user who must come over TLS
			return fmt.Errorf("%s: the server does not let the user %s in: correct user and password in the URL, or add ?tls=true if it asks for TLS (%w)", a.place(), a.user, err)
		}
		return fmt.Errorf("%s: the server does not let the user %s in: correct user and password in the URL (%w)", a.place(), a.user, err)
	case n == erHostNotAllowed, n == erHostBlocked:
		return fmt.Errorf("%s: the server does not talk to this machine: let the user %s come from here (%w)", a.place(), a.user, err)
	case n == erNoSuchDatabase:
		return fmt.Errorf("%s: there is no such database: make it (CREATE DATABASE %s), or correct the URL (%w)", a.place(), a.database, err)
	}
	if hint := mend(err); hint != "" {
		return fmt.Errorf("%s: %s (%w)", a.place(), hint, err)
	}
	return fmt.Errorf("%s cannot be opened: %w", a.place(), err)
}
