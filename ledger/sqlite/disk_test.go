package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/sqlite"
)

// mount puts a small file system of memory on dir. Only root may; a test that
// does not run as root finds another way.
func mount(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// scribble writes into a database that no server has open.
func scribble(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "rushgate.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

var morning = time.UnixMilli(1_760_000_000_000).UTC()

// till sells one endless item, and remembers what the ledger has said yes to.
type till struct {
	t     *testing.T
	l     *sqlite.Ledger
	batch int64
	id    rushgate.ID
	yes   []rushgate.ID
}

func newTill(t *testing.T, l *sqlite.Ledger) *till {
	t.Helper()
	k := &till{t: t, l: l}
	s := &rushgate.Sale{ID: "s", PerUser: 1, Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Items: []rushgate.Item{{ID: "a", Stock: 1 << 40}}}
	if err := k.record(&rushgate.Put{Sale: s, Kind: rushgate.SaleCreated}); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *till) record(s rushgate.Step) error {
	k.batch++
	return k.l.Record(k.t.Context(), &rushgate.Batch{ID: k.batch, At: morning, Steps: []rushgate.Step{s}})
}

// sell records a batch of so many claims.
func (k *till) sell(n int) error {
	g := &rushgate.Grant{Sale: "s", Epoch: 1, PerUser: 1}
	var ids []rushgate.ID
	for range n {
		k.id++
		ids = append(ids, k.id)
		g.Claims = append(g.Claims, rushgate.Claim{ID: k.id, Sale: "s", Item: "a", User: fmt.Sprint("user-", k.id), Quantity: 1,
			State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)})
	}
	err := k.record(g)
	if err == nil {
		k.yes = append(k.yes, ids...)
	}
	return err
}

// check compares what was said with what is there.
func (k *till) check(l *sqlite.Ledger) {
	k.t.Helper()
	claims, err := l.Claims(k.t.Context(), rushgate.ClaimQuery{Sale: "s", Limit: 1 << 30})
	if err != nil {
		k.t.Fatal(err)
	}
	var there []rushgate.ID
	for _, c := range claims {
		there = append(there, c.ID)
	}
	if !slices.Equal(there, k.yes) {
		k.t.Fatalf("%d claims are there, %d were acknowledged", len(there), len(k.yes))
	}
	y, err := l.Tally(k.t.Context(), "s")
	if err != nil || y.Items[0].Taken != int64(len(k.yes)) || y.SeqGaps != 0 || y.BadHistory != 0 {
		k.t.Fatalf("%+v, %v", y, err)
	}
}

// TestAFullDisk fills a real file system until batches are refused, then makes
// room: nothing acknowledged is lost, nothing refused is kept, and it goes on.
func TestAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run as root (in a container, say): a full disk needs a small file system to be mounted")
	}
	dir := t.TempDir()
	mount(t, dir, "size=3m")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	l := opened(t, dir)
	k := newTill(t, l)
	refused := 0
	for range 2000 {
		if err := k.sell(50); err != nil {
			if errors.Is(err, rushgate.ErrUnknown) || errors.Is(err, sqlite.ErrCorrupt) {
				t.Fatalf("a full disk is a definite refusal: %v", err)
			}
			if refused++; refused == 5 {
				break
			}
		}
	}
	if refused != 5 || len(k.yes) == 0 {
		t.Fatalf("%d refused, %d sold", refused, len(k.yes))
	}
	k.check(l)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := k.sell(50); err != nil {
			t.Fatalf("after room was made: %v", err)
		}
	}
	k.check(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	k.check(opened(t, dir))
}

// TestAFullDiskAtTheStart: the line says what is the matter, and once there is
// room the start succeeds, wherever the one before has ended.
func TestAFullDiskAtTheStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run as root (in a container, say): a full disk needs a small file system to be mounted")
	}
	const page = 4096
	for _, free := range []int{0, 2, 8} {
		t.Run(fmt.Sprint(free, " pages free"), func(t *testing.T) {
			dir := t.TempDir()
			mount(t, dir, "size=1m")
			ballast := filepath.Join(dir, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 1<<20-free*page), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			oneLine(t, err, dir, "is full: make room")
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			opened(t, dir)
		})
	}
}

// TestDamageFoundWhileRunning overwrites the rows of a database whose schema is
// whole, so that it opens: the first read that meets the damage must say so.
func TestDamageFoundWhileRunning(t *testing.T) {
	dir := t.TempDir()
	l := opened(t, dir)
	k := newTill(t, l)
	for range 20 {
		if err := k.sell(100); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rushgate.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) / 2; i < len(b); i++ {
		b[i] = 0xa5
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Tally(t.Context(), "s"); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Fatalf("a tally of a damaged database: %v", err)
	}
	k.l = l
	if err := k.sell(100); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Fatalf("a sale on a damaged database: %v", err)
	}
}

// TestTallySeesDamage plants what no program may leave behind, and expects the
// auditor's figures to show it.
func TestTallySeesDamage(t *testing.T) {
	for name, c := range map[string]struct {
		sql   string
		shows func(*rushgate.Tally) bool
	}{
		"a claim vanished": {`DELETE FROM claims WHERE id = 3`,
			func(y *rushgate.Tally) bool { return y.BadHistory == 1 && y.Items[0].CountedHeld == y.Items[0].Taken-1 }},
		"a claim without events": {`INSERT INTO claims SELECT 99, sale, round, item, 'new', slot, quantity, state, created_at, expires_at, ended_at, NULL FROM claims WHERE id = 1`,
			func(y *rushgate.Tally) bool { return y.BadHistory == 1 && y.Items[0].CountedHeld == y.Items[0].Taken+1 }},
		"a state without its event": {`UPDATE claims SET state = 'confirmed' WHERE id = 2`,
			func(y *rushgate.Tally) bool { return y.BadHistory == 1 && y.Items[0].CountedConfirmed == 1 }},
		"an end told twice": {`INSERT INTO events SELECT sale, 12, 2, 'claim.held', at, batch, '[1,2]', NULL FROM events WHERE seq = 2; UPDATE sales SET last_seq = 13`,
			func(y *rushgate.Tally) bool { return y.BadHistory == 2 && y.SeqGaps == 0 }},
		"an event row vanished": {`DELETE FROM events WHERE seq = 2`,
			func(y *rushgate.Tally) bool { return y.SeqGaps == 10 && y.BadHistory == 10 }},
		"a number too high": {`UPDATE sales SET last_seq = last_seq + 3`,
			func(y *rushgate.Tally) bool { return y.SeqGaps == 3 }},
		"an id lost from a row": {`UPDATE events SET claims = '[1,2,3,4,5,6,7,8,9]' WHERE seq = 2`,
			func(y *rushgate.Tally) bool { return y.SeqGaps == 1 && y.BadHistory == 1 }},
		"a slot lost": {`UPDATE claims SET slot = NULL WHERE id = 4`,
			func(y *rushgate.Tally) bool { return y.BadSlots == 1 }},
		"a slot kept after the end": {`UPDATE claims SET state = 'released', ended_at = 1 WHERE id = 4`,
			func(y *rushgate.Tally) bool { return y.BadSlots == 1 && y.BadHistory == 1 }},
		"two for one user": {`UPDATE claims SET user_id = 'user-1', slot = 1 WHERE id = 2`,
			func(y *rushgate.Tally) bool { return y.OverLimit["user-1"] == 2 && y.Users == 9 }},
		"a wrong stock row": {`UPDATE items SET taken = taken - 1`,
			func(y *rushgate.Tally) bool { return y.Items[0].Taken == y.Items[0].CountedHeld-1 }},
		"a claim of no item": {`UPDATE claims SET item = 'ghost' WHERE id = 5`,
			func(y *rushgate.Tally) bool { return len(y.Items) == 2 && y.Items[1].CountedHeld == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := opened(t, dir)
			k := newTill(t, l)
			if err := k.sell(10); err != nil {
				t.Fatal(err)
			}
			k.check(l)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			scribble(t, dir, c.sql)
			y, err := opened(t, dir).Tally(t.Context(), "s")
			if err != nil || !c.shows(y) {
				t.Fatalf("%+v, %v", y, err)
			}
		})
	}
}
