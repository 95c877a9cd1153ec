// Command baseline serves one of the baselines as a process of its own, as
// Rushgate is one, so that the time it spends is counted alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"rushgate/bench/baseline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

type settings struct {
	kind, listen, redis, data string
	stock                     int64
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("baseline", flag.ContinueOnError)
	flags.StringVar(&s.kind, "kind", "empty", "empty, redis or sqlrow")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "address")
	flags.StringVar(&s.redis, "redis", "", "address of the Redis of kind redis")
	flags.StringVar(&s.data, "data", "", "folder of kind sqlrow")
	flags.Int64Var(&s.stock, "stock", 1<<40, "units for sale")
	if err := flags.Parse(args); err != nil {
		return err
	}
	handler, closer, err := open(ctx, &s)
	if err != nil {
		return err
	}
	defer closer()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	return serve(ctx, listener, handler)
}

func open(ctx context.Context, s *settings) (http.Handler, func(), error) {
	switch s.kind {
	case "empty":
		return baseline.Empty(), func() {}, nil
	case "redis":
		b, err := baseline.NewRedis(ctx, s.redis, s.stock)
		if err != nil {
			return nil, nil, err
		}
		return b.Handler(), func() { b.Close() }, nil
	case "sqlrow":
		b, err := baseline.NewSQLRow(ctx, s.data, s.stock)
		if err != nil {
			return nil, nil, err
		}
		return b.Handler(), func() { b.Close() }, nil
	}
	return nil, nil, fmt.Errorf("kind %q: must be empty, redis or sqlrow", s.kind)
}

// serve runs until ctx ends, and lets requests finish for up to 5 seconds.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return err
}
