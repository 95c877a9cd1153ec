package lab

import (
	"context"

	"rushgate/app"
)

// rushgateMemory is Rushgate on one machine: a map decides, SQLite has it on the
// disk before the buyer hears.
//
// Everybody who waits is decided and committed together, so that the sync, which
// makes the ways in SQL slow, is shared by all of them. After a kill the gate is
// built again from the ledger: there is nothing else to recover.
func rushgateMemory() Way {
	return Way{
		Name: "rushgate-memory-sqlite", Family: Ours, Title: "memory gate + SQLite", Solo: true, Durable: true,
		Why: "A batch of waiting buyers is decided in memory and committed in one transaction before they hear: exact, durable, and the sync is shared.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
		Open: func(ctx context.Context, p Place) (Seller, error) {
			return openRushgate(ctx, p, func(*app.Config) {})
		},
	}
}
