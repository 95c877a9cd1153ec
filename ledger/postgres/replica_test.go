package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

// TestACommitThatTheStandbyLacks is not acknowledged, neither at once nor when
// it is asked for: who makes it give up waiting for the standby has it committed
// on the primary alone, where everybody can read it, and where it may end.
func TestACommitThatTheStandbyLacks(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	// Somebody who does not want to hear warnings must hear of this one.
	k := newTill(t, p.url+"&client_min_messages=error", postgres.Options{LockWait: 100 * time.Millisecond})
	must(t, k.record(k.grant(1)))
	p.sendStandbyAway(t)
	var open []*rushgate.Batch
	for _, giveUp := range []string{"pg_cancel_backend(pid)", "pg_terminate_backend(pid)"} {
		b := k.next(k.grant(1))
		open = append(open, b)
		recorded := make(chan error, 1)
		go func() { recorded <- k.Record(context.Background(), b) }()
		if err := p.repeat(t, `SELECT `+giveUp+` `+waitingForStandby, recorded); !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("%s: Record says %v, want ErrUnknown", giveUp, err)
		}
		k.taken(t, int64(1+len(open))) // everybody can read it
		p.isUnsure(t, k, b)
	}
	p.takeStandbyOff(t)
	for _, b := range open {
		if !k.settled(t, b) {
			t.Error("no standby is wanted any more, and the batch is said not to be recorded")
		}
	}
}

// TestWhoGivesUpDoesNotMakeACommitVisible: a node that waits no longer for the
// standby leaves the server waiting. What the standby lacks is read by nobody, so
// that nobody is told of it, and other batches of the sale do not get past it.
func TestWhoGivesUpDoesNotMakeACommitVisible(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	k := newTill(t, p.url, postgres.Options{Patience: 2 * time.Second, LockWait: 500 * time.Millisecond})
	must(t, k.record(k.grant(1)))
	p.sendStandbyAway(t)
	g := k.grant(1)
	b := k.next(g)
	if err := k.Record(t.Context(), b); !errors.Is(err, rushgate.ErrUnknown) {
		t.Fatalf("Record says %v, want ErrUnknown", err)
	}
	// This takes longer than a statement may: 3 seconds, and the two bounds.
	if yes, err := k.Recorded(t.Context(), b); err == nil {
		t.Fatalf("Recorded says %v, and the standby is away", yes)
	}
	if err := k.record(k.grant(1)); err == nil || errors.Is(err, rushgate.ErrUnknown) {
		t.Fatalf("the next batch: %v, want a plain error", err)
	}
	if found, err := k.Find(t.Context(), "s", []rushgate.ID{g.Claims[0].ID}, nil); err != nil || len(found) != 0 {
		t.Fatalf("found %+v, %v", found, err)
	}
	k.taken(t, 1)
	if n := p.sql(t, `SELECT `+waitingForStandby); n != 1 {
		t.Errorf("%d commits wait for the standby", n)
	}
	p.takeStandbyOff(t)
	if !k.settled(t, b) {
		t.Error("no standby is wanted any more, and the batch is said not to be recorded")
	}
	k.taken(t, 2)
}

// primary is a server of which a test decides whether its standby is there.
type primary struct {
	url   string
	admin *pgx.Conn
}

func newPrimary(t *testing.T) *primary {
	t.Helper()
	p := &primary{url: quick(t, testenv.PostgreSQL(t))}
	p.admin = p.connect(t, nil)
	return p
}

func (p *primary) connect(t *testing.T, heard pgconn.NoticeHandler) *pgx.Conn {
	t.Helper()
	c, err := pgx.ParseConfig(p.url)
	must(t, err)
	c.OnNotice = heard
	conn, err := pgx.ConnectConfig(context.Background(), c)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

const waitingForStandby = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

// sendStandbyAway lets commits wait for a standby that does not come, and
// returns when they do.
func (p *primary) sendStandbyAway(t *testing.T) {
	t.Helper()
	p.sql(t, `ALTER SYSTEM SET synchronous_standby_names = 'away'`)
	p.sql(t, `SELECT pg_reload_conf()`)
	waited := false
	probe := p.connect(t, func(*pgconn.PgConn, *pgconn.Notice) { waited = true })
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !waited {
			_, err = probe.Exec(context.Background(), `UPDATE ledger SET id = id`)
		}
		done <- err
	}()
	must(t, p.repeat(t, `SELECT pg_cancel_backend(pid) `+waitingForStandby, done))
}

// takeStandbyOff lets commits wait for nobody.
func (p *primary) takeStandbyOff(t *testing.T) {
	t.Helper()
	p.sql(t, `ALTER SYSTEM RESET synchronous_standby_names`)
	p.sql(t, `SELECT pg_reload_conf()`)
}

func (p *primary) sql(t *testing.T, sql string) (rows int64) {
	t.Helper()
	tag, err := p.admin.Exec(context.Background(), sql)
	must(t, err)
	return tag.RowsAffected()
}

// repeat repeats a statement until there is an outcome.
func (p *primary) repeat(t *testing.T, sql string, outcome <-chan error) error {
	t.Helper()
	for {
		select {
		case err := <-outcome:
			return err
		default:
			p.sql(t, sql)
		}
	}
}

// isUnsure checks that Recorded waits for the standby, and says nothing without it.
func (p *primary) isUnsure(t *testing.T, k *till, b *rushgate.Batch) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var yes bool
	asked := make(chan error, 1)
	go func() {
		var err error
		yes, err = k.Recorded(ctx, b)
		asked <- err
	}()
	for {
		select {
		case err := <-asked:
			if err == nil {
				t.Fatalf("Recorded says %v, and the standby is away", yes)
			}
			return
		default:
			if p.sql(t, `SELECT `+waitingForStandby) > 0 {
				cancel()
			}
		}
	}
}
