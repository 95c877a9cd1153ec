// Command rushgate sells limited stock to a stampede. `rushgate demo` shows it;
// `rushgate --help` says the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the whole command line: one field and one file for each command.
type commands struct {
	Demo    demoCmd      `cmd:"" help:"See it: 20,000 people, 100 phones, on a server of its own."`
	Serve   serveCmd     `cmd:"" help:"Run the server."`
	Sale    saleCmd      `cmd:"" help:"Create and operate sales on a server."`
	Audit   auditCmd     `cmd:"" help:"Check that a sale sold exactly what there is, once per person."`
	Check   checkCmd     `cmd:"" help:"Say what is wrong with a configuration before a server finds out."`
	Bench   benchCmd     `cmd:"" help:"Let a crowd in on a running server, and measure."`
	Lab     labCmd       `cmd:"" help:"See the classic ways to sell beside ours: which oversell, which lose, how fast each is."`
	Seller  labSellerCmd `cmd:"" name:"lab-seller" hidden:""`
	Version versionCmd   `cmd:"" help:"Print the version."`
}

const description = `Rushgate sells exactly what you have, once per person, however many show up.

  rushgate demo                              see it
  rushgate serve                             run it, on http://127.0.0.1:8080
  rushgate sale create --id phones --stock 100
  rushgate audit phones                      prove it
  rushgate lab                               see how others sell`

// world is what a command has of the world outside.
type world struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], world{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run carries out one command line. The first signal ends it in good order;
// the second one at once, as for a program that knows nothing of signals.
func run(args []string, w world) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	var c commands
	parser, err := newParser(ctx, &c, w)
	if err != nil {
		return complain(w.err, err)
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case len(args) == 1 && args[0] == "--version": // many try this first
		args = []string{"version"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		return complain(w.err, fmt.Errorf("%w (rushgate%s --help says more)", err, commandOf(err)))
	}
	if err := command.Run(); err != nil {
		return complain(w.err, err)
	}
	return 0
}

func newParser(ctx context.Context, c *commands, w world) (*kong.Kong, error) {
	return kong.New(c, kong.Name("rushgate"), kong.Description(description),
		kong.Writers(w.out, w.err), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(w))
}

// commandOf returns the command that a wrong command line was about, with a
// space before it.
func commandOf(err error) string {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil {
		return ""
	}
	if node := parse.Context.Selected(); node != nil && node.Type == kong.CommandNode {
		return " " + strings.TrimPrefix(node.FullPath(), "rushgate ")
	}
	return ""
}

// errFailed is a result that was printed already: only the exit status is left
// to tell.
var errFailed = errors.New("failed")

// complain prints an error as one line, and returns the exit status.
func complain(w io.Writer, err error) int {
	if !errors.Is(err, errFailed) {
		fmt.Fprintln(w, "rushgate:", oneLine(err))
	}
	return 1
}

// oneLine puts errors that were joined onto one line.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}
