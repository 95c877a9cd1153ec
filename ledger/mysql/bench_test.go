package mysql_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/ledgertest"
	"rushgate/ledger/mysql"
)

// roomy is a server as somebody would run it for a sale: durable, with memory
// for its rows.
func roomy(b *testing.B) *testenv.MariaDBServer {
	return testenv.MariaDB(b, "innodb_buffer_pool_size=512M", "innodb_log_file_size=512M")
}

func BenchmarkLedger(b *testing.B) {
	s := roomy(b)
	ledgertest.Bench(b, ledgertest.Factory{New: func(t testing.TB) ledgertest.Storage { return database(s.NewDatabase(t)) }})
}

// BenchmarkRecordAgainstBareInsert records batches of 256 claims, and beside it
// writes the same rows, bare, into the same table of another database of the
// same server: one INSERT of many rows, over one connection, durable. The sides
// take turns, so that the machine is the same for both; medians are compared.
func BenchmarkRecordAgainstBareInsert(b *testing.B) {
	const size = 256
	s := roomy(b)
	sides := []side{newRecord(b, s.NewDatabase(b)), newBare(b, s.NewDatabase(b), false), newBare(b, s.NewDatabase(b), true)}
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
	b.ReportMetric(per(1), "bare-rows/s")
	b.ReportMetric(per(2), "bare-prepared-rows/s")
	b.ReportMetric(per(0)/per(1), "record/bare")
	b.ReportMetric(per(0)/per(2), "record/prepared")
}

var morning = time.Date(2025, 11, 11, 0, 0, 0, 0, time.UTC)

// side writes a batch of claims.
type side func([]rushgate.Claim) error

func newRecord(b *testing.B, url string) side {
	l, err := mysql.Open(b.Context(), url, mysql.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	sale := &rushgate.Sale{ID: "s", Name: "Sale", PerUser: 1, Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "black-128", Stock: rushgate.MaxStock}}}
	batch := int64(1)
	err = l.Record(b.Context(), &rushgate.Batch{ID: batch, At: morning, Steps: []rushgate.Step{&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}}})
	if err != nil {
		b.Fatal(err)
	}
	return func(claims []rushgate.Claim) error {
		batch++
		return l.Record(context.Background(), &rushgate.Batch{ID: batch, At: morning,
			Steps: []rushgate.Step{&rushgate.Grant{Sale: "s", Epoch: 1, PerUser: 1, Claims: claims}}})
	}
}

// newBare makes the tables of a ledger, and a connection that knows nothing of it.
func newBare(b *testing.B, url string, prepared bool) side {
	newRecord(b, url)
	c := config(b, database(url))
	c.InterpolateParams = !prepared
	connector, err := driver.NewConnector(c)
	if err != nil {
		b.Fatal(err)
	}
	db := stdsql.OpenDB(connector)
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	statements := map[int]func(...any) error{}
	return func(claims []rushgate.Claim) error {
		run := statements[len(claims)]
		if run == nil {
			text := `INSERT INTO claims (id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key) VALUES ` +
				strings.TrimSuffix(strings.Repeat(`(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),`, len(claims)), ",")
			run = func(args ...any) error { _, err := db.Exec(text, args...); return err }
			if prepared {
				stmt, err := db.Prepare(text)
				if err != nil {
					return err
				}
				b.Cleanup(func() { stmt.Close() })
				run = func(args ...any) error { _, err := stmt.Exec(args...); return err }
			}
			statements[len(claims)] = run
		}
		args := make([]any, 0, 12*len(claims))
		for i := range claims {
			c := &claims[i]
			args = append(args, int64(c.ID), c.Sale, 1, c.Item, c.User, c.Slot, c.Quantity, string(c.State),
				c.CreatedAt.UnixMilli(), c.ExpiresAt.UnixMilli(), nil, nil)
		}
		return run(args...)
	}
}
