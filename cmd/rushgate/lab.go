package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"rushgate/bench/load"
	"rushgate/lab"
	"rushgate/lab/report"
	"rushgate/lab/stage"
	"rushgate/lab/trial"
)

// labCmd takes the classic ways to sell, and ours, through the same sales.
type labCmd struct {
	Strategy    []string      `placeholder:"WAY,…" help:"Ways to try: names, beginnings of names (redis, lock, sql, rushgate), or their ends (postgres). Default: all. --list shows them."`
	Stock       int           `default:"1000" help:"Units of each sale."`
	Buyers      int           `default:"5000" help:"People who want one; every tenth clicks twice."`
	Connections int           `default:"64" help:"People who are served at the same time."`
	Think       time.Duration `default:"0s" help:"How long each of them hesitates, at most."`
	Duration    time.Duration `default:"5s" help:"Longest duration of one sale."`
	Crash       bool          `default:"true" negatable:"" help:"A sale in which sellers are killed and started again."`
	Pause       bool          `default:"true" negatable:"" help:"A sale in which sellers stand still for longer than a lock lasts."`
	Failover    bool          `default:"true" negatable:"" help:"A sale in which Redis is killed and a replica takes over that is a little behind."`
	Admin       bool          `default:"true" negatable:"" help:"A sale in which an operator adds stock and clears it."`
	Redis       []string      `env:"RUSHGATE_LAB_REDIS" placeholder:"HOST:PORT,…" help:"Redis to use (or redis://user:password@host:port/db, rediss:// for TLS), three for Redlock. Default: private ones, started if redis-server is installed."`
	Postgres    string        `env:"RUSHGATE_LAB_POSTGRES" placeholder:"URL" help:"PostgreSQL to use: postgres://user:password@host:port/database?sslmode=… Default: a private one."`
	MariaDB     string        `name:"mariadb" env:"RUSHGATE_LAB_MARIADB" placeholder:"URL" help:"MariaDB or MySQL to use: mysql://user:password@host:port/database?tls=true. Default: a private one."`
	Out         []string      `sep:"none" placeholder:"FILE" help:"Write the report: a page, or all numbers if the name ends in .json. May be given twice."`
	List        bool          `help:"List the ways and end."`
}

// Help teaches.
func (*labCmd) Help() string {
	return `Runs the same sale through every way: a rush; an operator who adds stock and clears it in the middle; sellers that
stand still (SIGSTOP), sellers that are killed (SIGKILL), and a Redis that is, whose replica takes over. What the
buyers heard is then held against what was written down. Redis, PostgreSQL and MariaDB are started for it, in a
temporary folder, where they are installed.

  rushgate lab
  rushgate lab --strategy redis,rushgate --out lab.html
  rushgate lab --strategy sql-version --stock 100 --buyers 2000 --no-crash --out lab.json`
}

// Run runs the lab, and writes the report in any case: what was learned until
// something went wrong, too.
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
	options := l.stage(ways)
	if err := options.Validate(); err != nil {
		return err
	}
	files, err := openReports(l.Out)
	if err != nil {
		return err
	}
	r := &report.Report{Made: time.Now().UTC().Truncate(time.Second), Version: version(), Hardware: load.Hardware(), Plan: plan}
	ctx, s, leave := watched(ctx, newScreen(w.out))
	defer leave()
	err = l.experiment(ctx, s, r, options, ways)
	r.Seconds = time.Since(r.Made).Seconds()
	r.Partial = r.Partial || err != nil
	written, failed := files.write(r)
	for _, name := range written {
		fmt.Fprintln(w.out, "written:", name)
	}
	return errors.Join(err, failed)
}

func (l *labCmd) plan() trial.Plan {
	return trial.Plan{Stock: l.Stock, Buyers: l.Buyers, Connections: l.Connections, Think: l.Think, Duration: l.Duration,
		Crash: l.Crash, Pause: l.Pause, Failover: l.Failover, Admin: l.Admin}
}

// stage says where to sell.
func (l *labCmd) stage(ways []lab.Way) stage.Options {
	options := stage.Options{Redis: l.Redis, Postgres: l.Postgres, MariaDB: l.MariaDB, Connections: l.Connections}
	for i := range ways {
		options.Needs = append(options.Needs, ways[i].Needs...)
	}
	return options
}

// experiment takes the ways through their sales, one after the other.
func (l *labCmd) experiment(ctx context.Context, s *screen, r *report.Report, options stage.Options, ways []lab.Way) error {
	lab.Silence()
	s.line("%s", s.faint("starting the servers …"))
	place, err := stage.Open(ctx, options)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before anything was tried")
		}
		return err
	}
	defer place.Close()
	seller, err := os.Executable()
	if err != nil {
		return err
	}
	ways, r.Notes = place.Choose(ways, len(l.Strategy) > 0)
	if r.Partial = len(r.Notes) > 0; len(ways) == 0 {
		return fmt.Errorf("nothing to try: %s", strings.Join(r.Notes, "; "))
	}
	r.Plan.Failover = r.Plan.Failover && slices.ContainsFunc(ways, func(w lab.Way) bool { return w.InRedis() })
	if r.Plan.Failover && len(l.Redis) > 0 {
		r.Plan.Failover = false
		r.Notes = append(r.Notes, "the sale in which Redis fails over is left out: a Redis that was given is not killed")
	}
	if r.Plan.Buyers < r.Plan.Stock {
		r.Notes = append(r.Notes, "fewer buyers than units: nobody competes for the last one, and hardly anything can break")
	}
	watch := &trial.Watch{}
	setup := trial.Setup{Plan: r.Plan, Place: place.Place, Replicate: place.Replicate, Count: place.Count, Watch: watch,
		Command: func() *exec.Cmd { return exec.Command(seller, sellerCommand) }}
	show := labScreen{screen: s, watch: watch, ways: len(ways), table: report.NewTable(s.width)}
	show.begin(r)
	for i := range ways {
		o := show.follow(i, func() trial.Outcome { return trial.Run(ctx, setup, ways[i]) })
		r.Ways = append(r.Ways, o)
		r.Partial = r.Partial || o.Problem != ""
		if ctx.Err() != nil {
			return errors.New("interrupted: this is what was learned until then")
		}
	}
	show.end(r)
	return unfinished(r)
}

// unfinished is an error if something went wrong with a way: which the report
// tells, and scripts have to hear.
func unfinished(r *report.Report) error {
	var names []string
	for i := range r.Ways {
		if r.Ways[i].Problem != "" {
			names = append(names, r.Ways[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("not tried to the end, for the reasons above: %s", strings.Join(names, ", "))
}

// listWays prints what --strategy takes.
func listWays(out io.Writer, ways []lab.Way) error {
	family := lab.Family("")
	for i := range ways {
		if w := &ways[i]; w.Family != family {
			family = w.Family
			fmt.Fprintf(out, "%s\n", family)
		}
		fmt.Fprintf(out, "  %-26s %s\n", ways[i].Name, ways[i].Title)
	}
	return nil
}
