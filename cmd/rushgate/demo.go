package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"rushgate/app"
	"rushgate/client"
)

// demoCmd lets a crowd in on a server of its own.
type demoCmd struct {
	People      int    `default:"20000" help:"How many people want one."`
	Stock       int64  `default:"100" help:"How many phones there are."`
	Connections int    `default:"128" help:"Connections that the crowd shares."`
	Listen      string `placeholder:"HOST:PORT" help:"Address to serve on. Default: 127.0.0.1:8080, or a free port where that is taken."`
	Once        bool   `help:"End after the audit instead of serving on."`
}

// Help teaches.
func (*demoCmd) Help() string {
	return `Starts a server on a temporary folder, lets the crowd in over HTTP, shows what happened, and keeps serving
so that you can try the lines that it prints. Ctrl-C ends it and removes the folder.

  rushgate demo
  rushgate demo --people 100000 --stock 1000 --once`
}

const demoSale = "iphone-100s"

// Run plays the whole demo.
func (d *demoCmd) Run(ctx context.Context, w world) error {
	if d.People < 1 || d.People > 10_000_000 || d.Stock < 1 || d.Stock > 10_000_000 || d.Connections < 1 || d.Connections > 4096 {
		return errors.New("a demo has 1 to 10,000,000 people and phones, and 1 to 4096 connections")
	}
	dir, err := os.MkdirTemp("", "rushgate-demo-*")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	err = d.play(ctx, w, dir)
	return errors.Join(err, os.RemoveAll(dir))
}

// play is the demo in a folder. The server stops when play returns.
func (d *demoCmd) play(ctx context.Context, w world, dir string) (err error) {
	app.TuneMemory()
	program, err := d.open(ctx, w, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopDemo(program)) }()
	s := newScreen(w.out)
	d.greet(s, program, dir)
	outcome, report, err := d.sell(ctx, s, program)
	if ctx.Err() != nil {
		return nil // interrupted: there is nothing to tell
	}
	if err != nil {
		return err
	}
	d.tell(s, outcome)
	if err := d.prove(s, report); err != nil {
		return err
	}
	if d.Once {
		return nil
	}
	invite(s, program.URL(), dir)
	return program.Run(ctx)
}

// open starts the server on 8080, where people look for it, or on a free port.
func (d *demoCmd) open(ctx context.Context, w world, dir string) (*app.Program, error) {
	log := slog.New(slog.NewTextHandler(w.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg := app.Defaults()
	cfg.Data = filepath.Join(dir, "data")
	if d.Listen != "" {
		cfg.Listen = d.Listen
		return app.Open(ctx, cfg, log)
	}
	program, err := app.Open(ctx, cfg, log)
	if err == nil || ctx.Err() != nil {
		return program, err
	}
	cfg.Listen = "127.0.0.1:0"
	return app.Open(ctx, cfg, log)
}

func stopDemo(p *app.Program) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.Close(ctx)
}

// sell creates the sale, lets the crowd in, and audits.
func (d *demoCmd) sell(ctx context.Context, s *screen, p *app.Program) (*outcome, *client.Report, error) {
	operator, err := client.New(p.URL(), client.WithToken(p.AdminToken()))
	if err != nil {
		return nil, nil, err
	}
	defer operator.Close()
	_, err = operator.CreateSale(ctx, client.Sale{ID: demoSale, Name: "iPhone 100S", PerUser: 1, Hold: "15m",
		Items: []client.Item{{ID: "black-128", Name: "Black 128 GB", Stock: d.Stock}}})
	if err != nil {
		return nil, nil, err
	}
	c, err := newCrowd(p.URL(), p.AdminToken(), d)
	if err != nil {
		return nil, nil, err
	}
	end := s.follow(c.progress)
	result, err := c.rush(ctx)
	end()
	if err != nil {
		return nil, nil, err
	}
	report, err := operator.Audit(ctx, demoSale)
	return result, report, err
}
