// Package shop shows a shop's own server beside Rushgate: it claims for its
// buyers, takes the payment, confirms, and follows what happens.
package shop

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"rushgate/app"
	"rushgate/client"
)

// A buyer checks out, another one changes their mind.
func Example() {
	ctx := context.Background()
	url, token, stop := startServer(ctx) // yours runs already: rushgate serve
	defer stop()

	rush, err := client.New(url, client.WithToken(token))
	if err != nil {
		log.Fatal(err)
	}
	defer rush.Close()
	_, err = rush.CreateSale(ctx, client.Sale{ID: "shoes", PerUser: 1, Hold: "15m",
		Items: []client.Item{{ID: "eu42", Stock: 1}}})
	if err != nil {
		log.Fatal(err)
	}

	// The order draft's id is the key: however often this is tried, also after
	// a crash of this program, it is one claim.
	claim, err := rush.Claim(ctx, "shoes", client.Ask{User: "ann", Key: "draft-1001"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := rush.Claim(ctx, "shoes", client.Ask{User: "ben"}); client.CodeOf(err) == client.SoldOut {
		fmt.Println("ben comes too late")
	}
	if _, err := rush.Release(ctx, claim.ID); err != nil {
		log.Fatal(err)
	}
	claim, err = rush.Claim(ctx, "shoes", client.Ask{User: "ben"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := rush.Confirm(ctx, claim.ID); err != nil { // the payment came
		log.Fatal(err)
	}

	for event, err := range rush.Events(ctx, "shoes", 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Seq, event.Kind)
		if event.Kind == "claim.confirmed" {
			break // a shop goes on listening, and remembers event.Seq
		}
	}
	// Output:
	// ben comes too late
	// 1 sale.created
	// 2 claim.held
	// 3 claim.released
	// 4 claim.held
	// 5 claim.confirmed
}

func startServer(ctx context.Context) (url, token string, stop func()) {
	cfg := app.Defaults()
	cfg.Listen = "127.0.0.1:0"
	cfg.Data = filepath.Join(os.TempDir(), fmt.Sprint("rushgate-shop-", os.Getpid()))
	program, err := app.Open(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		log.Fatal(err)
	}
	return program.URL(), program.AdminToken(), func() {
		if err := program.Close(ctx); err != nil {
			log.Print(err)
		}
		if err := os.RemoveAll(cfg.Data); err != nil {
			log.Print(err)
		}
	}
}
