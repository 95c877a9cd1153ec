package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rushgate"
	"rushgate/ledger/sqlite"
)

// TestACommitThatComesBack is the worst that a failed fsync can do: the
// process takes the commit for failed, but its frames are in the log, so that
// a restart would find it committed. Recorded must say what a restart will see.
//
// The frames are made by a twin: a copy of the database and its log, to which
// the same batch is committed. The longer log is then laid over the first.
func TestACommitThatComesBack(t *testing.T) {
	dir, twin := t.TempDir(), t.TempDir()
	const doubted = 77
	armed := false
	l, err := sqlite.Open(t.Context(), dir, sqlite.Options{Commit: func(commit func() error) error {
		if !armed {
			return commit()
		}
		layTwinsLog(t, dir, twin, doubted)
		return errors.New("injected: fsync failed")
	}})
	if err != nil {
		t.Fatal(err)
	}
	k := newTill(t, l)
	if err := k.sell(10); err != nil {
		t.Fatal(err)
	}
	armed = true
	b := &rushgate.Batch{ID: doubted, At: morning, Steps: []rushgate.Step{&rushgate.Restock{Sale: "s", Item: "a", Add: -1}}}
	if err := l.Record(t.Context(), b); !errors.Is(err, rushgate.ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	armed = false
	if yes, err := l.Recorded(t.Context(), b); !yes || err != nil {
		t.Fatalf("Recorded says %v, %v: a restart would bring the batch back", yes, err)
	}
	log, err := os.Stat(filepath.Join(dir, "rushgate.db-wal"))
	if err != nil || log.Size() != 0 {
		t.Fatalf("the log was not emptied: %v, %v", log, err)
	}
	if err := k.sell(10); err != nil {
		t.Fatal(err)
	}
	k.check(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, dir)
	k.check(l)
	if yes, err := l.Recorded(t.Context(), b); !yes || err != nil {
		t.Fatalf("after a restart Recorded says %v, %v", yes, err)
	}
}

func layTwinsLog(t *testing.T, dir, twin string, batch int64) {
	t.Helper()
	// Not by reading the files here: closing a file of the database would take
	// SQLite's locks on it away from this process.
	for _, name := range []string{"rushgate.db", "rushgate.db-wal"} {
		if out, err := exec.Command("cp", filepath.Join(dir, name), filepath.Join(twin, name)).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
	}
	before, err := os.ReadFile(filepath.Join(twin, "rushgate.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(twin, "rushgate.db")+"?_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO batches VALUES (?, 0)`, batch); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(twin, "rushgate.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(after) <= len(before) || !bytes.Equal(after[:len(before)], before) {
		t.Fatalf("the twin's log (%d bytes) does not go on where this one (%d bytes) ends", len(after), len(before))
	}
	log, err := os.OpenFile(filepath.Join(dir, "rushgate.db-wal"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(after); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
