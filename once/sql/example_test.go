package oncesql_test

import (
	"context"
	"database/sql"
	"fmt"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// The payment, the key and the receipt are committed together: exactly once.
func ExampleStore_DoTx() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	store, _ := oncesql.New(db, oncesql.SQLite, oncesql.Options{})
	_ = store.CreateTables(ctx)
	_, _ = db.ExecContext(ctx, `CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO accounts VALUES (1, 100)`)

	for range 3 {
		r, err := store.DoTx(ctx, "order-17", oncesql.TxOptions{}, func(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
			_, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = balance - 7 WHERE id = 1`)
			return []byte("receipt 17"), err
		})
		fmt.Printf("%s, replayed: %v, %v\n", r.Value, r.Replayed, err)
	}
	var balance int
	_ = db.QueryRowContext(ctx, `SELECT balance FROM accounts WHERE id = 1`).Scan(&balance)
	fmt.Println("balance", balance)
	// Output:
	// receipt 17, replayed: false, <nil>
	// receipt 17, replayed: true, <nil>
	// receipt 17, replayed: true, <nil>
	// balance 93
}
