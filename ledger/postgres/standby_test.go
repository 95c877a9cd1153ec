package postgres_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

// TestAStandby is read, and refuses to be written until it is the primary.
func TestAStandby(t *testing.T) {
	t.Parallel()
	s := testenv.PostgreSQL(t)
	url := s.URL("postgres")
	k := newTill(t, url, postgres.Options{})
	must(t, k.record(k.grant(2)))
	data, err := s.SQL("postgres", `SHOW data_directory`)
	must(t, err)
	s.Stop()
	signal, err := os.Create(filepath.Join(data, "standby.signal")) // the server demands nothing but that it is there
	must(t, err)
	must(t, signal.Chmod(0o644))
	must(t, signal.Close())
	must(t, s.Start())

	_, err = postgres.Open(t.Context(), url, postgres.Options{})
	hints(t, err, "is a standby", "name the primary")
	f, err := postgres.Probe(t.Context(), url, time.Now)
	if err != nil || f.Primary || f.ID != k.ID() {
		t.Errorf("%+v, %v", f, err)
	}
	l, err := postgres.OpenReadOnly(t.Context(), url)
	must(t, err)
	if y, err := l.Tally(t.Context(), "s"); err != nil || y.Claims[rushgate.Held] != 2 {
		t.Errorf("%+v, %v", y, err)
	}
	must(t, l.Close())

	// Whoever had it open while it was the primary hears so too, and goes on
	// when it is the primary again.
	b := k.next(k.grant(1))
	err = k.Record(t.Context(), b)
	hints(t, err, "takes no writes", "name the primary")
	if errors.Is(err, rushgate.ErrUnknown) || errors.Is(err, rushgate.ErrLost) {
		t.Fatalf("got %v, want a plain error", err)
	}
	_, err = s.SQL("postgres", `SELECT pg_promote()`)
	must(t, err)
	must(t, k.Record(t.Context(), b))
	k.taken(t, 3)
}
