package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"rushgate"
	"rushgate/app"
	"rushgate/client"
)

// auditCmd checks the invariants of a sale.
type auditCmd struct {
	Sale       string `arg:"" help:"Id of the sale."`
	Data       string `env:"RUSHGATE_DATA" default:"./rushgate-data" placeholder:"FOLDER" help:"Folder of the embedded ledger to look into; a server may be running on it."`
	Ledger     string `env:"RUSHGATE_LEDGER" default:"sqlite" placeholder:"sqlite|URL" help:"As for serve: sqlite (in --data), or the URL of a database. A user who may only read is enough."`
	Gate       string `env:"RUSHGATE_GATE" default:"memory" placeholder:"memory|URL" help:"As for serve: memory, or the URL of a Redis, whose counts and journal are compared with the ledger."`
	Server     string `placeholder:"URL" help:"Ask this server instead: it compares the ledger with its gate, too, and mends what it can."`
	AdminToken string `env:"RUSHGATE_ADMIN_TOKEN" placeholder:"TOKEN" help:"Admin token, for --server. Default: what is in DATA/admin-token."`
	JSON       bool   `name:"json" help:"Print JSON instead of a table."`
}

// Help teaches.
func (*auditCmd) Help() string {
	return `Without --server it reads the ledger (and the gate, if it is a Redis), changes nothing, and may be run beside servers.
The exit status is 0 only if every check holds.

  rushgate audit phones --data ./rushgate-data
  rushgate audit phones --ledger postgres://auditor@db/rushgate --gate redis://cache:6379
  rushgate audit phones --server http://127.0.0.1:8080`
}

// Run prints the checks.
func (a *auditCmd) Run(ctx context.Context, w world) error {
	report, err := a.report(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		err = writeJSON(w.out, report)
	} else {
		err = writeReport(w.out, a.Sale, report)
	}
	if err == nil && !report.OK {
		err = errFailed
	}
	return err
}

func (a *auditCmd) report(ctx context.Context) (*client.Report, error) {
	if a.Server == "" {
		cfg := app.Defaults()
		cfg.Data, cfg.Ledger, cfg.Gate = a.Data, a.Ledger, a.Gate
		report, err := app.Audit(ctx, cfg, a.Sale)
		if err != nil {
			return nil, err
		}
		return asClientReport(report), nil
	}
	r := remote{Server: a.Server, AdminToken: a.AdminToken, Data: a.Data}
	c, err := r.operator()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	report, err := c.Audit(ctx, a.Sale)
	if err != nil {
		return nil, r.explain(err)
	}
	return report, nil
}

// asClientReport gives the report the shape that the API has.
func asClientReport(r *rushgate.Report) *client.Report {
	out := &client.Report{OK: r.OK}
	for _, c := range r.Checks {
		out.Checks = append(out.Checks, client.Check(c))
	}
	return out
}

// writeReport prints an audit for people.
func writeReport(w io.Writer, sale string, r *client.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	failed := 0
	for _, c := range r.Checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
			failed++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", mark, c.Name, c.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := fmt.Sprintf("%s: all %d checks hold", sale, len(r.Checks))
	if failed > 0 {
		verdict = fmt.Sprintf("%s: %d of %d checks FAILED", sale, failed, len(r.Checks))
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}
