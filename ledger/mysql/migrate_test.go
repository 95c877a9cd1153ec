package mysql_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rushgate/ledger/mysql"
)

// statements are those of the first migration, as goose divides them.
func statements(t testing.TB) []string {
	t.Helper()
	file, err := os.ReadFile("migrations/00001_ledger.sql")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "-- +goose Down") {
			break
		}
		if line, _, _ = strings.Cut(line, "--"); strings.TrimSpace(line) != "" {
			code = append(code, line)
		}
	}
	all := strings.SplitAfter(strings.Join(code, "\n"), ";")
	return all[:len(all)-1]
}

// TestAMigrationThatWasCutOff: wherever the first start was killed, the next one
// finishes its work.
func TestAMigrationThatWasCutOff(t *testing.T) {
	t.Parallel()
	all := statements(t)
	if len(all) != 8 {
		t.Fatalf("%d statements", len(all))
	}
	s := server.Server(t)
	for cut := range len(all) + 1 {
		d := database(s.NewDatabase(t))
		hand := d.hand(t)
		if cut > 0 { // before the first of them, there is a table of versions, perhaps without its first row
			d.do(t, hand, `CREATE TABLE goose_db_version (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
				version_id BIGINT NOT NULL, is_applied BOOLEAN NOT NULL, tstamp DATETIME NULL DEFAULT CURRENT_TIMESTAMP)`)
		}
		for _, statement := range all[:cut] {
			d.do(t, hand, statement)
		}
		var before string
		if cut == len(all) {
			before = sql(t, s, `SELECT id FROM `+d.name()+`.ledger`)
		}
		k := newTill(t, string(d), mysql.Options{})
		if err := k.record(k.grant(2)); err != nil {
			t.Fatalf("after %d statements: %v", cut, err)
		}
		if before != "" && k.ID() != before {
			t.Errorf("the ledger was %s and is %s", before, k.ID())
		}
	}
}

// TestManyNodesStartAtOnce: one of them makes the tables.
func TestManyNodesStartAtOnce(t *testing.T) {
	url := server.Server(t).NewDatabase(t)
	type start struct {
		l   *mysql.Ledger
		err error
	}
	started := make(chan start)
	const nodes = 5
	for range nodes {
		go func() {
			l, err := mysql.Open(t.Context(), url, mysql.Options{})
			started <- start{l, err}
		}()
	}
	ids := map[string]bool{}
	for range nodes {
		s := <-started
		if s.err != nil {
			t.Error(s.err)
			continue
		}
		ids[s.l.ID()] = true
		if err := s.l.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("ids %v of one ledger", ids)
	}
}

func TestTablesOfAnotherVersion(t *testing.T) {
	d := fresh(t)
	newTill(t, string(d), mysql.Options{})
	d.do(t, d.hand(t), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	_, err := mysql.Open(t.Context(), string(d), mysql.Options{})
	hints(t, err, "made by a newer Rushgate", "version 99", "use the newer program")
	if !errors.Is(err, mysql.ErrNewer) {
		t.Error("not ErrNewer")
	}
	_, err = mysql.OpenReadOnly(t.Context(), string(d))
	hints(t, err, "made by a newer Rushgate")
	d.do(t, d.hand(t), `DELETE FROM goose_db_version WHERE version_id > 0`)
	_, err = mysql.OpenReadOnly(t.Context(), string(d))
	hints(t, err, "there is no ledger in the database")
}
