package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// settings are what a run can be told. The rest follows from quick.
type settings struct {
	quick bool
	data  string
	out   string
	only  string

	rounds   int
	measured time.Duration // of one measurement, after the warm-up
	warmup   time.Duration
	attempts int // of a measurement that others disturb

	users   int // that the memory gate remembers
	rebuilt int // claims that the gate is rebuilt from
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "a first look in about a minute; its numbers are not recorded")
	flags.StringVar(&s.data, "data", "", "folder for the databases, on the disk that is to be measured (default: a temporary one)")
	flags.StringVar(&s.out, "out", "", "folder for the results (default: bench/results, with --quick nowhere)")
	flags.StringVar(&s.only, "only", "", "run one part: "+partNames())
	flags.IntVar(&s.rounds, "rounds", 0, "interleaved rounds (default 5, with --quick 1)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if s.rounds < 0 || s.rounds > 100 {
		return nil, fmt.Errorf("--rounds %d: must be 1 to 100", s.rounds)
	}
	s.complete()
	return s, nil
}

func (s *settings) complete() {
	rounds := 5
	s.measured, s.warmup = 5*time.Second, time.Second
	s.users, s.rebuilt = 10_000_000, 1_000_000
	s.attempts = 3
	if s.quick {
		rounds = 1
		s.measured, s.warmup = 1500*time.Millisecond, 500*time.Millisecond
		s.users, s.rebuilt = 1_000_000, 100_000
		s.attempts = 1
	}
	if s.rounds == 0 {
		s.rounds = rounds
	}
	if s.out == "" && !s.quick && s.only == "" {
		s.out = "bench/results"
	}
}

// longest bounds a whole run, whatever hangs.
const longest = time.Hour

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	b, err := prepare(ctx, s, out)
	if err != nil {
		return err
	}
	defer b.cleanUp()
	began := time.Now()
	for _, p := range parts() {
		if s.only != "" && s.only != p.name {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", p.title)
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.result.Strangers = b.disturbed()
	b.result.Seconds = time.Since(began).Seconds()
	fmt.Fprintln(out)
	if err := b.result.writeTable(out); err != nil {
		return err
	}
	return b.save()
}

// part is one group of rows.
type part struct {
	name, title string
	run         func(*bench, context.Context) error
}

// parts returns all parts in their order: latency and overload need the maximum
// that claims finds.
func parts() []part {
	return []part{
		{"claims", "Durable claims a second", (*bench).claims},
		{"refusals", "Refusals a second after sold out", (*bench).refusals},
		{"batch", "Batch endpoint and bare ledger", (*bench).batches},
		{"cluster", "A cluster on one machine: Redis gate and PostgreSQL", (*bench).clusterClaims},
		{"decisions", "Redis gate without HTTP", (*bench).decisions},
		{"ledgers", "Ledgers on servers, batches of 256", (*bench).ledgers},
		{"shards", "One sale in shards", (*bench).shards},
		{"locks", "Locks in Redis", (*bench).locks},
		{"limits", "Rate limits beside other libraries", (*bench).limits},
		{"latency", "Latency at half of the maximum, open loop", (*bench).latency},
		{"overload", "Three times the maximum, open loop", (*bench).overload},
		{"memory", "Memory of the gate", (*bench).memory},
		{"rebuild", "Rebuild of the gate from the ledger", (*bench).rebuild},
		{"ids", "Ids", (*bench).ids},
		{"once", "Package once beside the plain commands", (*bench).once},
	}
}

// partNames lists the parts for people.
func partNames() string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
