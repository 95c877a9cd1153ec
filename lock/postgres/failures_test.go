package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/postgres"
)

func locker(t *testing.T, b lock.Backend) *lock.Locker {
	t.Helper()
	l, err := lock.New(b, lock.Options{Lease: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A server that was killed comes back with every lock, and with greater fences.
func TestACrashForgetsNothing(t *testing.T) {
	own := testenv.PostgreSQL(t)
	p := pool(t, own.NewDatabase(t))
	b := backend(t, p, postgres.Options{})
	l, m := locker(t, b), locker(t, b)
	h, err := l.Lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	own.Kill()
	if _, err := m.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	other, err := m.Lock(t.Context(), "other") // it asks until the server answers
	if err != nil {
		t.Fatal(err)
	}
	if other.Fence() <= h.Fence() {
		t.Fatalf("a fence of %d after %d", other.Fence(), h.Fence())
	}
	if _, err := m.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrHeld) || !h.Valid() {
		t.Fatal(err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := m.TryLock(t.Context(), "k")
	if err != nil || next.Fence() <= h.Fence() {
		t.Fatal(next, err)
	}
}

// A transaction that does not see what others have just committed would grant
// twice.
func TestOnlyReadCommittedWillDo(t *testing.T) {
	url := server.Server(t).NewDatabase(t)
	backend(t, pool(t, url), postgres.Options{})
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	b, err := postgres.New(pool(t, url+separator+"default_transaction_isolation=serializable"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = locker(t, b).TryLock(t.Context(), "k")
	if err == nil || errors.Is(err, lock.ErrUnavailable) || !strings.Contains(err.Error(), "READ COMMITTED") {
		t.Fatal(err)
	}
}

func TestASchemaThatIsMissing(t *testing.T) {
	b, err := postgres.New(pool(t, server.Server(t).NewDatabase(t)), postgres.Options{Schema: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = locker(t, b).Lock(t.Context(), "k")
	if err == nil || !strings.Contains(err.Error(), "Prepare") {
		t.Fatal(err)
	}
	for _, schema := range []string{"A", "1a", "a b", strings.Repeat("a", 25)} {
		if _, err := postgres.New(pool(t, server.Server(t).NewDatabase(t)), postgres.Options{Schema: schema}); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%q: %v", schema, err)
		}
	}
}
