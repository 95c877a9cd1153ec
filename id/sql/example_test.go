package sql_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"os"
	"path/filepath"

	"rushgate/id"
	"rushgate/id/sql"
)

// With SQLite; the other databases differ in the driver and the dialect alone.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	db, err := stdsql.Open("sqlite", "file:"+filepath.Join(dir, "ids.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	store, err := sql.New(db, sql.SQLite, sql.Options{Name: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := store.CreateTables(ctx); err != nil {
		fmt.Println(err)
		return
	}
	layout := id.Standard(8)
	node, err := id.Join(ctx, store, id.NodeConfig{Layout: layout})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	next, err := node.Next()
	fmt.Println(next > 0, layout.Node(next), err)
	// Output: true 0 <nil>
}
