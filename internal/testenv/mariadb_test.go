package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// A MariaDB that starts takes every "#sql…" of its folder for temporary tables
// for its own leavings, and removes them: in a folder that servers share, those
// of another one that is about to use them.
func TestAMariaDBLeavesTheTablesOfOthersAlone(t *testing.T) {
	shared := t.TempDir()
	t.Setenv("TMPDIR", shared)
	others := filepath.Join(shared, "#sql-temptable-1-2-3.MAI")
	if err := os.WriteFile(others, []byte("in use"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := MariaDB(t)
	if _, err := os.Stat(others); err != nil {
		t.Errorf("after the start of a server: %v", err)
	}
	if got := query(t, s, "", "SELECT @@tmpdir"); got == shared {
		t.Errorf("its temporary tables are in %s, where those of others are", got)
	}
}
