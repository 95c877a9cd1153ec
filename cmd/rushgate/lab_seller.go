package main

import (
	"context"
	"os"

	"rushgate/lab"
	"rushgate/lab/trial"
)

// sellerCommand is the command of the processes that sell, which nobody types.
const sellerCommand = "lab-seller"

// labSellerCmd is a process that sells in the lab.
type labSellerCmd struct{}

// Run sells until its input ends.
func (*labSellerCmd) Run(ctx context.Context, w world) error {
	lab.Silence()
	return trial.Sell(context.WithoutCancel(ctx), os.Getenv(trial.AssignmentEnv), w.in, w.out)
}
