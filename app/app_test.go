package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/app"
	"rushgate/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgres.Around(mariadb.Around(redis.Around(m)))) }

func config(t *testing.T) app.Config {
	t.Helper()
	cfg := app.Defaults()
	cfg.Listen, cfg.Data = "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
	return cfg
}

func open(t *testing.T, cfg app.Config) *app.Program {
	t.Helper()
	p, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func connect(t *testing.T, url, token string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Run ends with its context, closes everything, and may be followed by any
// number of Closes; the folder is free for the next one.
func TestRunEndsWithItsContext(t *testing.T) {
	cfg := config(t)
	for range 30 { // the parts stop in one another's way in more than one order
		p := open(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		c := connect(t, p.URL(), p.AdminToken())
		if _, err := c.Sales(t.Context()); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// What cannot be opened leaves nothing behind: neither a goroutine (TestMain
// looks) nor the port.
func TestFailedOpenLeavesNothing(t *testing.T) {
	cfg := config(t)
	first := open(t, cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen = l.Addr().String()
	l.Close()
	_, err = app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "in use by process") || strings.Contains(err.Error(), "\n") {
		t.Errorf("two programs on one folder: %v", err)
	}
	if conn, err := net.Dial("tcp", cfg.Listen); err == nil { // to listen there once more may fail because of others
		conn.Close()
		t.Error("the port was kept")
	}
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that somebody else has fenced off does not know what is true any
// more: it grants nothing and ends with an error.
func TestFencedServerStops(t *testing.T) {
	cfg := config(t)
	p := open(t, cfg)
	c := connect(t, p.URL(), p.AdminToken())
	if _, err := c.CreateSale(t.Context(), client.Sale{ID: "s", PerUser: 1, Hold: "1h", Items: []client.Item{{ID: "a", Stock: 5}}}); err != nil {
		t.Fatal(err)
	}
	execute(t, cfg.Data, `UPDATE sales SET epoch = epoch + 1`)
	ended := make(chan error)
	go func() { ended <- p.Run(t.Context()) }()
	one, err := client.New(p.URL(), client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if _, err := one.Claim(t.Context(), "s", client.Ask{User: "u"}); client.CodeOf(err) != client.Unavailable {
		t.Errorf("a claim at a server that was fenced off: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "epoch") {
		t.Errorf("Run returned %v", err)
	}
	again := open(t, cfg)
	stock, _, err := connect(t, again.URL(), again.AdminToken()).Stock(t.Context(), "s")
	if err != nil || stock[0].Free != 5 {
		t.Errorf("%+v, %v", stock, err)
	}
}

// The three identities, each through its flags.
func TestIdentities(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, set := range map[string]func(*app.Config){
		"dev": func(c *app.Config) {},
		"backend": func(c *app.Config) {
			c.Identity, c.BackendKey = "backend", []string{"the-old-key-of-the-shop", "the-new-key-of-the-shop"}
		},
		"jwt": func(c *app.Config) { c.Identity, c.JWTFile = "jwt", secret },
	} {
		t.Run(kind, func(t *testing.T) {
			cfg := config(t)
			set(&cfg)
			p := open(t, cfg)
			operator := connect(t, p.URL(), p.AdminToken())
			if _, err := operator.CreateSale(t.Context(), client.Sale{ID: "s", Hold: "1h", Items: []client.Item{{ID: "a", Stock: 5}}}); err != nil {
				t.Fatal(err)
			}
			for token, want := range map[string]client.Code{"": client.Unauthenticated, "wrong": client.Unauthenticated, "the-new-key-of-the-shop": client.Unauthenticated} {
				if kind == "dev" || kind == "backend" && token == "the-new-key-of-the-shop" {
					want = ""
				}
				_, err := connect(t, p.URL(), token).Claim(t.Context(), "s", client.Ask{User: "u"})
				if client.CodeOf(err) != want {
					t.Errorf("with the token %q: %v, want %q", token, err, want)
				}
			}
		})
	}
}

// A claim of a bounded number of connections waits for its turn; it is served
// when one is free.
func TestConnectionsAreBounded(t *testing.T) {
	cfg := config(t)
	cfg.Connections = 1
	p := open(t, cfg)
	first, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, p.URL(), "")
	answered := make(chan error, 1)
	go func() {
		_, err := c.Sales(t.Context())
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a second connection was served: %v", err)
	case <-time.After(50 * time.Millisecond): // long enough for a bound that is not there
	}
	first.Close()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// The log never tells a secret.
func TestLogKeepsSecrets(t *testing.T) {
	var log bytes.Buffer
	cfg := config(t)
	cfg.AdminToken = "an-admin-token-of-some-length"
	cfg.Identity, cfg.BackendKey = "backend", []string{"a-backend-key-of-some-length"}
	p, err := app.Open(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = connect(t, p.URL(), cfg.AdminToken).Sales(t.Context())
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s := log.String(); strings.Contains(s, cfg.AdminToken) || strings.Contains(s, "a-backend-key-of-some-length") {
		t.Errorf("a secret in the log: %s", s)
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, app.TokenFile)); err == nil {
		t.Error("a token that was given was written to the folder")
	}
}
