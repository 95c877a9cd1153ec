package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/ledgertest"
	"rushgate/ledger/postgres"
)

// roomy is a server as somebody would run it for a sale: durable, with memory
// for its rows, and with a log that is not emptied every minute.
func roomy(b *testing.B) *testenv.PostgresServer {
	return testenv.PostgreSQL(b, "shared_buffers=512MB", "max_wal_size=4GB", "checkpoint_timeout=30min")
}

// database is the storage of a ledger that has a database to itself.
type database string

func (d database) Open(t testing.TB, commit func(func() error) error) rushgate.Ledger {
	t.Helper()
	l, err := postgres.Open(context.Background(), string(d), postgres.Options{Commit: commit})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l
}

func BenchmarkLedger(b *testing.B) {
	s := roomy(b)
	ledgertest.Bench(b, ledgertest.Factory{New: func(t testing.TB) ledgertest.Storage { return database(s.NewDatabase(t)) }})
}

// BenchmarkRecordAgainstBareInsert records batches of 256 claims, and beside it
// writes the same rows, bare, into the same table of another database of the
// same server: one prepared INSERT of many rows in a transaction, over one
// connection, durable. Three ways to do that are measured. The sides take turns,
// so that the machine is the same for all; medians are compared.
func BenchmarkRecordAgainstBareInsert(b *testing.B) {
	const size = 256
	s := roomy(b)
	sides := []side{newRecord(b, s.NewDatabase(b))}
	for _, way := range []func(context.Context, pgx.Tx, []rushgate.Claim) error{bareUnnest, bareValues, bareCopy} {
		sides = append(sides, newBare(b, s.NewDatabase(b), way))
	}
	took := make([][]float64, len(sides))
	chance := rand.New(rand.NewPCG(1, 2))
	id := rushgate.ID(7_291_840_912_345_678)
	round := func(keep bool) {
		claims := make([]rushgate.Claim, size)
		for i := range claims {
			id++
			claims[i] = rushgate.Claim{ID: id, Sale: "s", Item: "black-128", User: fmt.Sprintf("u%016d", chance.Uint64()>>12),
				Quantity: 1, State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)}
		}
		for i, write := range sides {
			began := time.Now()
			if err := write(claims); err != nil {
				b.Fatal(err)
			}
			if keep {
				took[i] = append(took[i], time.Since(began).Seconds())
			}
		}
	}
	for range 200 {
		round(false)
	}
	b.ResetTimer()
	for range b.N {
		round(true)
	}
	per := func(i int) float64 {
		slices.Sort(took[i])
		return size / took[i][len(took[i])/2]
	}
	b.ReportMetric(per(0), "record-claims/s")
	for i, name := range []string{"unnest", "values", "copy"} {
		b.ReportMetric(per(i+1), name+"-rows/s")
		b.ReportMetric(per(0)/per(i+1), "record/"+name)
	}
}

// side writes a batch of claims.
type side func([]rushgate.Claim) error

func newRecord(b *testing.B, url string) side {
	l := opened(b, url, postgres.Options{})
	sale := &rushgate.Sale{ID: "s", Name: "Sale", PerUser: 1, Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "black-128", Stock: rushgate.MaxStock}}}
	batch := int64(1)
	must(b, l.Record(b.Context(), &rushgate.Batch{ID: batch, At: morning, Steps: []rushgate.Step{&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}}}))
	return func(claims []rushgate.Claim) error {
		batch++
		return l.Record(context.Background(), &rushgate.Batch{ID: batch, At: morning,
			Steps: []rushgate.Step{&rushgate.Grant{Sale: "s", Epoch: 1, PerUser: 1, Claims: claims}}})
	}
}

// newBare makes the tables of a ledger, and a connection that knows nothing of it.
func newBare(b *testing.B, url string, way func(context.Context, pgx.Tx, []rushgate.Claim) error) side {
	newRecord(b, url)
	conn, err := pgx.Connect(context.Background(), url)
	must(b, err)
	b.Cleanup(func() { conn.Close(context.Background()) })
	return func(claims []rushgate.Claim) error {
		ctx := context.Background()
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return way(ctx, tx, claims) })
	}
}

const intoClaims = `INSERT INTO claims (id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at) `

// bareUnnest sends an array for each column.
func bareUnnest(ctx context.Context, tx pgx.Tx, claims []rushgate.Claim) error {
	var id, quantity, created, expires []int64
	var sale, item, user, state []string
	var round, slot []int32
	for i := range claims {
		c := &claims[i]
		id, quantity, created, expires = append(id, int64(c.ID)), append(quantity, c.Quantity), append(created, c.CreatedAt.UnixMilli()), append(expires, c.ExpiresAt.UnixMilli())
		sale, item, user, state = append(sale, c.Sale), append(item, c.Item), append(user, c.User), append(state, string(c.State))
		round, slot = append(round, 1), append(slot, c.Slot)
	}
	_, err := tx.Exec(ctx, intoClaims+`SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[])`,
		id, sale, round, item, user, slot, quantity, state, created, expires)
	return err
}

// bareValues sends a list of rows, a parameter for each field.
func bareValues(ctx context.Context, tx pgx.Tx, claims []rushgate.Claim) error {
	text := []byte(intoClaims + `VALUES `)
	var args []any
	for i := range claims {
		c := &claims[i]
		for f, field := range []any{int64(c.ID), c.Sale, int32(1), c.Item, c.User, c.Slot, c.Quantity, string(c.State), c.CreatedAt.UnixMilli(), c.ExpiresAt.UnixMilli()} {
			args = append(args, field)
			text = fmt.Appendf(text, "%c$%d", "(,"[min(f, 1)], len(args))
		}
		text = append(text, `),`...)
	}
	_, err := tx.Exec(ctx, string(text[:len(text)-1]), args...)
	return err
}

// bareCopy uses the protocol for bulk loads, which is no INSERT.
func bareCopy(ctx context.Context, tx pgx.Tx, claims []rushgate.Claim) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"claims"}, []string{"id", "sale", "round", "item", "user_id", "slot", "quantity", "state", "created_at", "expires_at"},
		pgx.CopyFromSlice(len(claims), func(i int) ([]any, error) {
			c := &claims[i]
			return []any{int64(c.ID), c.Sale, int32(1), c.Item, c.User, c.Slot, c.Quantity, string(c.State), c.CreatedAt.UnixMilli(), c.ExpiresAt.UnixMilli()}, nil
		}))
	return err
}
