package oncesql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// BenchmarkOnce measures the stores in a durable PostgreSQL and MariaDB against
// the plain statements that people write for it, by 16 callers at a time. The sides take
// turns, so that the machine is the same for all; medians are compared. b.N is the
// calls of a turn.
func BenchmarkOnce(b *testing.B) {
	for name, at := range map[string]func(testing.TB) place{
		"postgres": func(tb testing.TB) place {
			return place{oncesql.Postgres, "pgx", testenv.PostgreSQL(tb).NewDatabase(tb)}
		},
		"mariadb": func(tb testing.TB) place {
			return place{oncesql.MySQL, "mysql", mysqlDSN(testenv.MariaDB(tb).NewDatabase(tb)) + "?interpolateParams=true"}
		},
	} {
		b.Run(name, func(b *testing.B) {
			p := at(b)
			db, s := p.node(b)
			db.SetMaxOpenConns(16)
			db.SetMaxIdleConns(16)
			compare(b, sidesOf(b, p, db, s))
		})
	}
}

// side does one thing, with a number that nobody has used.
type side struct {
	name string
	do   func(ctx context.Context, n int) error
}

func compare(b *testing.B, sides []side) {
	const callers, turns = 16, 5
	rates := map[string][]float64{}
	n := 0
	b.ResetTimer()
	for turn := range turns + 1 {
		for _, side := range sides {
			var all sync.WaitGroup
			began, each := time.Now(), max(1, b.N/callers)
			for range callers {
				from := n
				n += each
				all.Go(func() {
					for i := range each {
						if err := side.do(context.Background(), from+i); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if turn > 0 { // the first is a warm-up
				rates[side.name] = append(rates[side.name], float64(each*callers)/time.Since(began).Seconds())
			}
		}
	}
	for _, side := range sides {
		slices.Sort(rates[side.name])
		b.ReportMetric(rates[side.name][turns/2], side.name+"/s")
	}
}

// plain are the statements that people write.
type plain struct{ insert, many, pay string }

func plainOf(d oncesql.Dialect) plain {
	if d == oncesql.Postgres {
		return plain{`INSERT INTO plain (name) VALUES ($1) ON CONFLICT DO NOTHING`,
			`INSERT INTO plain (name) SELECT value FROM json_array_elements_text($1::json) ON CONFLICT DO NOTHING`,
			`INSERT INTO payments (name, amount) VALUES ($1, 7)`}
	}
	return plain{`INSERT IGNORE INTO plain (name) VALUES (?)`,
		`INSERT IGNORE INTO plain (name) SELECT m FROM JSON_TABLE(?, '$[*]' COLUMNS (m VARCHAR(255) PATH '$')) j`,
		`INSERT INTO payments (name, amount) VALUES (?, 7)`}
}

func sidesOf(b *testing.B, p place, db *sql.DB, s *oncesql.Store) []side {
	for _, statement := range []string{`CREATE TABLE plain (name VARCHAR(255) PRIMARY KEY)`, `CREATE TABLE payments (name VARCHAR(255) PRIMARY KEY, amount INT)`} {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	marks, err := once.NewMarks(s)
	if err != nil {
		b.Fatal(err)
	}
	o, err := once.New(once.Config{Store: s})
	if err != nil {
		b.Fatal(err)
	}
	say := plainOf(p.dialect)
	hundred := func(n int) []string {
		members := make([]string, 100)
		for i := range members {
			members[i] = fmt.Sprintf("m-%d-%d", n, i)
		}
		return members
	}
	return []side{
		{"INSERT", func(ctx context.Context, n int) error {
			_, err := db.ExecContext(ctx, say.insert, strconv.Itoa(n))
			return err
		}},
		{"First", func(ctx context.Context, n int) error {
			_, err := marks.First(ctx, "s", strconv.Itoa(n))
			return err
		}},
		{"INSERT-100", func(ctx context.Context, n int) error {
			list, err := json.Marshal(hundred(n))
			if err == nil {
				_, err = db.ExecContext(ctx, say.many, string(list))
			}
			return err
		}},
		{"FirstEach-100", func(ctx context.Context, n int) error {
			_, err := marks.FirstEach(ctx, "many", hundred(n))
			return err
		}},
		{"tx", func(ctx context.Context, n int) error { return byHand(ctx, db, say, strconv.Itoa(n)) }},
		{"DoTx", func(ctx context.Context, n int) error {
			_, err := s.DoTx(ctx, "tx-"+strconv.Itoa(n), oncesql.TxOptions{}, func(ctx context.Context, tx *sql.Tx, a once.Attempt) ([]byte, error) {
				_, err := tx.ExecContext(ctx, say.pay, a.Key)
				return []byte("paid"), err
			})
			return err
		}},
		{"Do", func(ctx context.Context, n int) error {
			_, err := o.Do(ctx, "do-"+strconv.Itoa(n), func(context.Context, once.Attempt) ([]byte, error) { return []byte("done"), nil })
			return err
		}},
	}
}

// byHand is a transaction with a unique key as people write it: no result, no
// word on what others are at, no failures that are kept.
func byHand(ctx context.Context, db *sql.DB, say plain, name string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, say.insert, "tx-"+name); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, say.pay, "hand-"+name); err != nil {
		return err
	}
	return tx.Commit()
}
