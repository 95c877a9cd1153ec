package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"rushgate/app"
)

// serveCmd runs the server.
type serveCmd struct {
	settings `embed:""`
	logging  `embed:""`
}

// Help teaches.
func (*serveCmd) Help() string {
	return `Without any flag: the server on http://127.0.0.1:8080, the ledger in ./rushgate-data, every user believed.

  rushgate serve
  rushgate serve --listen :8080 --data /var/lib/rushgate --identity backend --backend-key $KEY
  rushgate serve --listen :8080 --identity jwt --jwt-jwks https://id.example.com/.well-known/jwks.json
  rushgate serve --listen :8080 --ledger postgres://rushgate@db/rushgate … (start it twice: one leads, one stands by)
  rushgate serve --listen :8080 --ledger mysql://rushgate@db/rushgate --gate redis://cache:6379 … (all nodes sell)
  RUSHGATE_DATA=/var/lib/rushgate rushgate serve --config /etc/rushgate.json

A flag beats the environment (RUSHGATE_ and the flag's name), the environment beats the file.
SIGTERM or Ctrl-C stops it in good order; a second one at once.`
}

// Run serves until a signal comes.
func (c *serveCmd) Run(ctx context.Context, w world) error {
	log, err := c.logger(w.err)
	if err != nil {
		return err
	}
	app.TuneMemory()
	program, err := app.Open(ctx, c.Server, log)
	if ctx.Err() != nil && program == nil {
		return nil // told to stop while it started: nothing was accepted
	}
	if err != nil {
		return err
	}
	return program.Run(ctx)
}

// logging says how the log is written.
type logging struct {
	LogFormat string `env:"RUSHGATE_LOG_FORMAT" default:"text" enum:"text,json" help:"Format of the log, on standard error: text or json."`
	LogLevel  string `env:"RUSHGATE_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: debug, info, warn or error."`
}

func (l *logging) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	if l.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}
