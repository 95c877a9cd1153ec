package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"rushgate/lab/report"
	"rushgate/lab/stage"
	"rushgate/lab/trial"
)

// labCmd takes the classic ways to sell, and ours, through the same sales.
type labCmd struct {
	Strategy    []string      `placeholder:"WAY,…" help:"Ways to try: names, beginnings of names, or a family (redis, lock, sql, rushgate). Default: all. --list shows them."`
	Stock       int           `default:"1000" help:"Units of each sale."`
	Buyers      int           `default:"5000" help:"People who want one; every tenth clicks twice."`
	Connections int           `default:"64" help:"People who are served at the same time."`
	Think       time.Duration `default:"0s" help:"How long each of them hesitates, at most."`
	Duration    time.Duration `default:"4s" help:"Longest duration of one sale."`
	Crash       bool          `default:"true" negatable:"" help:"A sale in which sellers are killed and started again."`
	Pause       bool          `default:"true" negatable:"" help:"A sale in which sellers stand still for longer than a lock lasts."`
	Admin       bool          `default:"true" negatable:"" help:"A sale in which an operator adds stock and clears it."`
	Redis       []string      `placeholder:"HOST:PORT,…" help:"Redis to use, three for Redlock. Default: private ones, started if redis-server is installed."`
	Postgres    string        `placeholder:"URL" help:"PostgreSQL to use: postgres://user:password@host:port/database. Default: a private one."`
	MariaDB     string        `name:"mariadb" placeholder:"URL" help:"MariaDB or MySQL to use: mysql://user:password@host:port/database. Default: a private one."`
	Out         []string      `placeholder:"FILE" help:"Write the report: a page, or JSON with a name that ends in .json. May be given twice."`
	List        bool          `help:"List the ways and end."`
}

// Help teaches.
func (*labCmd) Help() string {
	return `Runs the same sale through every way: a rush; an operator who adds stock and clears it in the middle; sellers that
stand still (SIGSTOP) and sellers that are killed (SIGKILL). What the buyers heard is then held against what was
written down. Redis, PostgreSQL and MariaDB are started for it, in a temporary folder, where they are installed.

  rushgate lab
  rushgate lab --strategy redis,rushgate --out lab.html
  rushgate lab --strategy sql-version --stock 100 --buyers 2000 --no-crash --out lab.json`
}

// Run runs the lab, and writes the report in any case: what was learned until
// then, too.
func (l *labCmd) Run(ctx context.Context, w world) error {
	ways, err := lab.Choose(l.Strategy)
	if err != nil {
		return err
	}
	if l.List {
		return listWays(w.out, ways)
	}
	plan := l.plan()
	if err := plan.Validate(); err != nil {
		return err
	}
	files, err := openOuts(l.Out)
	if err != nil {
		return err
	}
	r, err := l.experiment(ctx, w, plan, ways)
	if err != nil {
		return err
	}
	return files.write(r)
}
