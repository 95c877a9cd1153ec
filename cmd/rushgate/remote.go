package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"rushgate/app"
	"rushgate/client"
)

// remote is how a command finds a server and is let in.
type remote struct {
	Server     string `env:"RUSHGATE_SERVER" default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server."`
	AdminToken string `env:"RUSHGATE_ADMIN_TOKEN" placeholder:"TOKEN" help:"The server's admin token. Default: what the server keeps in DATA/admin-token."`
	Data       string `env:"RUSHGATE_DATA" default:"./rushgate-data" placeholder:"FOLDER" help:"The server's data folder, to read the admin token from."`
}

// operator returns a client that may operate sales.
func (r *remote) operator() (*client.Client, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	return r.client(client.WithToken(token))
}

// token returns the admin token that was given, or the one in the data folder.
func (r *remote) token() (string, error) {
	if r.AdminToken != "" {
		return r.AdminToken, nil
	}
	token, err := app.ReadAdminToken(r.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no admin token in %s: name the server's folder with --data, or give --admin-token", r.Data)
	}
	return token, err
}

// visitor returns a client that may look at what is public.
func (r *remote) visitor() (*client.Client, error) { return r.client() }

func (r *remote) client(options ...client.Option) (*client.Client, error) {
	retry := client.Retry{Attempts: 2, Pause: 50 * time.Millisecond, MaxPause: 50 * time.Millisecond, MaxRetryAfter: 2 * time.Second}
	return client.New(r.Server, append(options, client.WithRetry(retry))...)
}

// explain words what a server said, or that there is none.
func (r *remote) explain(err error) error {
	var e *client.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Code == client.Unreachable:
		return fmt.Errorf("no server answers at %s: start one with `rushgate serve`, or name another with --server (%w)", r.Server, e.Cause)
	case e.Code == client.Unauthenticated || e.Code == client.Forbidden:
		return fmt.Errorf("the server at %s does not know this admin token: use --admin-token, or --data with the folder of that server", r.Server)
	case e.Field != "":
		return fmt.Errorf("%s: %s (%s)", e.Field, e.Message, e.Code)
	}
	return fmt.Errorf("%s (%s)", e.Message, e.Code)
}

// writeJSON prints a value for programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
