// Package embed shows the engine inside another Go program: no server, no
// HTTP, one folder.
package embed

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"rushgate"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
)

// Two phones and three people, one phone each.
func Example() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("rushgate-embed-", os.Getpid()))
	defer os.RemoveAll(dir)

	ledger, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ledger.Close()
	gate := memory.New()
	defer gate.Close()
	service, err := rushgate.Open(ctx, rushgate.Config{Gate: gate, Ledger: ledger})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close(ctx)

	_, err = service.CreateSale(ctx, rushgate.Sale{ID: "phones", PerUser: 1,
		Items: []rushgate.Item{{ID: "black", Stock: 2}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, user := range []string{"ann", "ben", "ann", "cleo"} {
		receipt, err := service.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: user})
		if err != nil {
			fmt.Println(user, rushgate.CodeOf(err))
			continue
		}
		fmt.Println(user, receipt.Claim.State)
	}
	// Output:
	// ann confirmed
	// ben confirmed
	// ann limit_reached
	// cleo sold_out
}
