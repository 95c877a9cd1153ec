// Takeover measures for how long a cluster does not sell when the one that
// decides dies: the leader with its gate in memory, and the Redis master of a
// Sentinel group. Real processes are killed again and again while buyers keep
// asking through a load balancer; what counts is the longest time between two
// claims that were granted.
//
//	go run ./bench/takeover [--runs 20] [--only leader|master]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"rushgate/internal/binary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "takeover:", err)
		os.Exit(1)
	}
}

// settings are what a measurement can be told.
type settings struct {
	runs  int
	only  string
	lease time.Duration // how long a silent leader keeps its place
}

// disaster is one thing that is measured.
type disaster struct {
	name, what string
	measure    func(ctx context.Context, m *measurement) error
}

var disasters = []disaster{
	{"leader", "the leader is killed (gate in memory, ledger PostgreSQL)", killLeaders},
	{"master", "the Redis master is killed (Sentinel group, ledger PostgreSQL)", killMasters},
}

// longest bounds the whole measurement, whatever hangs.
const longest = time.Hour

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("takeover", flag.ContinueOnError)
	flags.IntVar(&s.runs, "runs", 20, "how often each is killed")
	flags.StringVar(&s.only, "only", "", "measure one alone: leader or master")
	flags.DurationVar(&s.lease, "lease", 3*time.Second, "--lease of the nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.runs < 1 || s.runs > 1000 || flags.NArg() > 0 || !slices.Contains([]string{"", "leader", "master"}, s.only) {
		return errors.New("usage: takeover [--runs 1…1000] [--only leader|master] [--lease 3s]")
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	dir, err := os.MkdirTemp("", "rushgate-takeover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := binary.Build(dir)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "seconds without service\truns\tmin\tmedian\tp90\tmax\n")
	for _, d := range disasters {
		if s.only != "" && s.only != d.name {
			continue
		}
		m := &measurement{settings: s, dir: dir, program: program, progress: progress}
		if err := d.measure(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		slices.Sort(m.gaps)
		fmt.Fprintf(table, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\n", d.what, len(m.gaps),
			quantile(m.gaps, 0), quantile(m.gaps, 0.5), quantile(m.gaps, 0.9), quantile(m.gaps, 1))
	}
	return table.Flush()
}

// quantile is the smallest of sorted values that at least this part of them
// does not exceed, in seconds.
func quantile(sorted []time.Duration, part float64) float64 {
	i := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[max(i, 0)].Seconds()
}
