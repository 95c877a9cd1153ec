package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The oldest versions that have what the ledger needs: CHECK constraints that
// are enforced, and JSON_TABLE.
const (
	oldestMariaDB = "10.6"
	oldestMySQL   = "8.0.16"
)

// acceptable refuses a server that is too old.
func (l *Ledger) acceptable(ctx context.Context) error {
	var version string
	if err := l.short.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
		return err
	}
	family, number := familyOf(version)
	oldest := oldestMySQL
	if family == mariaDB {
		oldest = oldestMariaDB
	}
	if older(number, oldest) {
		return fmt.Errorf("the server is %s %s, and the ledger needs %s or newer: upgrade it, or name another server", family, number, oldest)
	}
	return nil
}

const (
	mariaDB = "MariaDB"
	mySQL   = "MySQL"
)

// familyOf takes what a server says of itself apart: 10.11.6-MariaDB-0+deb12u1-log
// is MariaDB 10.11.6. Whoever does not say MariaDB is taken for MySQL.
func familyOf(version string) (family, number string) {
	number, _, _ = strings.Cut(version, "-")
	if strings.Contains(version, mariaDB) {
		return mariaDB, number
	}
	return mySQL, number
}

// older compares versions part by part. A part that is no number counts as 0.
func older(version, than string) bool {
	has, wants := strings.Split(version, "."), strings.Split(than, ".")
	for i, want := range wants {
		var h int
		if i < len(has) {
			h, _ = strconv.Atoi(has[i])
		}
		if w, _ := strconv.Atoi(want); h != w {
			return h < w
		}
	}
	return false
}
