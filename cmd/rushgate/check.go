package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"rushgate/app"
)

// checkCmd tries a configuration.
type checkCmd struct {
	settings `embed:""`
	JSON     bool `name:"json" help:"Print JSON instead of a table."`
}

// Help teaches.
func (*checkCmd) Help() string {
	return `Takes the flags, environment and file of serve and tries everything a server needs: the folder and its
rights, what an fsync takes, the database, the Redis, the port, the keys of tokens, clocks, open files, and the
nodes that sell now. Each setting that weakens a promise is a warning that says which. It changes nothing.
The exit status is 0 only if a server would start.

  rushgate check
  rushgate check --config /etc/rushgate.json
  rushgate check --ledger postgres://rushgate@db/rushgate --gate redis://cache:6379`
}

// Run prints what was tried.
func (c *checkCmd) Run(ctx context.Context, w world) error {
	probes := app.Check(ctx, c.Server)
	ok := true
	for _, p := range probes {
		ok = ok && p.OK
	}
	if c.JSON {
		if err := writeJSON(w.out, struct {
			OK     bool        `json:"ok"`
			Probes []app.Probe `json:"checks"`
		}{ok, probes}); err != nil {
			return err
		}
	} else if err := writeProbes(w, probes); err != nil {
		return err
	}
	if !ok {
		return errFailed
	}
	return nil
}

func writeProbes(w world, probes []app.Probe) error {
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	for _, p := range probes {
		mark := "ok"
		if !p.OK {
			mark = "FAILED"
		} else if p.Warning {
			mark = "warning"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", mark, p.Name, p.Detail)
	}
	return t.Flush()
}
