package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/postgres"
)

func locker(t *testing.T, b lock.Backend) *lock.Locker {
	t.Helper()
	return lockerWith(t, b, lock.Options{})
}

func lockerWith(t *testing.T, b lock.Backend, opts lock.Options) *lock.Locker {
	t.Helper()
	opts.Lease = 3 * time.Minute // longer than a server needs to come back
	l, err := lock.New(b, locktest.InTime(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A server that was killed comes back with every lock, and with greater fences,
// however the lock was got.
func TestACrashForgetsNothing(t *testing.T) {
	for name, get := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()                                         // it waits more than it works
			own := testenv.PostgreSQL(t, "wal_writer_delay=10s") // what is not flushed by its commit is lost
			p := pool(t, own.NewDatabase(t))
			b := backend(t, p, postgres.Options{})
			l, m := locker(t, b), locker(t, b)
			c := &crash{T: t, b: b, l: l, m: m}
			h := get(c)
			own.Kill()
			hasty := lockerWith(t, b, lock.Options{Timeout: time.Second})
			if _, err := hasty.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
				t.Fatal(err)
			}
			if err := own.Start(); err != nil {
				t.Fatal(err)
			}
			survives(t, p, h, c.also, m)
		})
	}
}

// survives checks that a lock is still held, and that fences go on.
func survives(t *testing.T, p *pgxpool.Pool, h, also *lock.Held, m *lock.Locker) {
	t.Helper()
	other := locktest.Take(t, m, "other") // it asks until the server answers
	if other.Fence() <= h.Fence() {
		t.Fatalf("a fence of %d after %d", other.Fence(), h.Fence())
	}
	// Who asks for the key would grant it anew to whoever was first in its line.
	var fence uint64
	if err := p.QueryRow(t.Context(), "SELECT fence FROM lock.claims WHERE key = 'k' AND fence > 0").Scan(&fence); err != nil || fence != h.Fence() {
		t.Fatalf("it was held with a fence of %d, and after the crash of %d, %v", h.Fence(), fence, err)
	}
	if _, err := m.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrHeld) || !h.Valid() {
		t.Fatal(err)
	}
	locktest.Unlock(t, h)
	if also != nil {
		locktest.Unlock(t, also)
	}
	if next := locktest.Take(t, m, "k"); next.Fence() <= h.Fence() {
		t.Fatalf("a fence of %d after %d", next.Fence(), h.Fence())
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
