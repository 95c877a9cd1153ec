package redis

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"net"

	"github.com/redis/rueidis"
)

// Open connects to the Redis that a URL names: see ParseURL.
func Open(ctx context.Context, url string, opts Options) (*Gate, error) {
	g, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	g.startWatching()
	return g, nil
}

func connect(ctx context.Context, url string, opts Options) (*Gate, error) {
	address, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	address.settle(&opts)
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("options of the Redis gate: %w", err)
	}
	g := &Gate{opts: opts, names: names{opts.Prefix}, scripts: newScripts(), node: rand.Text()[:nodeLetters], sales: map[string]*view{},
		seeds: seeds{maphash.MakeSeed(), maphash.MakeSeed()}}
	to := address.client(&opts)
	to.DialCtxFn = g.dial
	if g.client, err = rueidis.NewClient(to); err != nil {
		if err = explain(err); address.secure && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no TLS handshake: a server that does not speak TLS is written redis://: %w", err)
		}
		return nil, fmt.Errorf("the Redis at %s: %w", address, err)
	}
	if err := g.inspect(ctx); err != nil {
		g.client.Close()
		return nil, fmt.Errorf("the Redis at %s: %w", address, err)
	}
	return g, nil
}

// nodeLetters is how much of a random text tells nodes apart: 50 bits.
const nodeLetters = 10

// dial makes a connection and counts it: a server that is another one than
// before can only be met through a new connection.
func (g *Gate) dial(ctx context.Context, to string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
	var conn net.Conn
	var err error
	if secure != nil {
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", to)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", to)
	}
	g.dials.Add(1)
	return conn, err
}
