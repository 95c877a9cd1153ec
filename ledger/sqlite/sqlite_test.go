package sqlite_test

import (
	"context"
	"testing"

	"rushgate"
	"rushgate/ledger/ledgertest"
	"rushgate/ledger/sqlite"
)

// folder is the storage of a SQLite ledger.
type folder string

func (f folder) Open(t testing.TB, commit func(func() error) error) rushgate.Ledger {
	t.Helper()
	l, err := sqlite.Open(context.Background(), string(f), sqlite.Options{Commit: commit})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l
}

func factory() ledgertest.Factory {
	return ledgertest.Factory{New: func(t testing.TB) ledgertest.Storage { return folder(t.TempDir()) }}
}

func BenchmarkLedger(b *testing.B) { ledgertest.Bench(b, factory()) }

func TestLedger(t *testing.T) { ledgertest.Run(t, factory()) }
