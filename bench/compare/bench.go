package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench is one run: what was built, where it writes, what it found.
type bench struct {
	*settings
	out    io.Writer
	dir    string // temporary, removed at the end
	bin    string // the built binaries
	result *Result
	seed   uint64 // a new one for every measurement: no user comes twice
	max    float64

	benchmark gobenchmark
}

// connectionCounts are those of the table.
func connectionCounts() []int { return []int{256, 64} }

// prepare looks for the tools, builds the binaries and describes the machine.
func prepare(ctx context.Context, s *settings, out io.Writer) (*bench, error) {
	for _, tool := range []string{"wrk", "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed: `make bench` installs it on Debian; elsewhere install the package %s", tool, tool)
		}
	}
	if s.data != "" {
		if err := os.MkdirAll(s.data, 0o755); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(s.data, "rushgate-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, out: out, dir: dir, bin: filepath.Join(dir, "bin"), seed: uint64(time.Now().UnixNano()), benchmark: goTest}
	machine, err := describe(ctx, dir)
	if err == nil {
		err = b.build(ctx)
	}
	if err == nil {
		err = os.WriteFile(b.script(), claimScript, 0o644)
	}
	if err != nil {
		b.cleanUp()
		return nil, err
	}
	b.result = &Result{At: time.Now().UTC().Truncate(time.Second), Command: "go run ./bench/compare " + strings.Join(os.Args[1:], " "),
		Machine: *machine, Durability: machine.durability(), Rounds: s.rounds, MeasuredSeconds: s.measured.Seconds(),
		WarmupSeconds: s.warmup.Seconds(), Quick: s.quick}
	fmt.Fprintf(out, "%s\n%s\n", machine, b.result.Durability)
	return b, nil
}

func (b *bench) cleanUp() { _ = os.RemoveAll(b.dir) }

// build compiles the servers as a user would, without race detector or tags.
func (b *bench) build(ctx context.Context) error {
	for name, pkg := range map[string]string{"rushgate": "rushgate/cmd/rushgate", "baseline": "rushgate/bench/cmd/baseline"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.bin, name), pkg)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, said)
		}
	}
	return nil
}

// fresh makes an empty folder for one measurement.
func (b *bench) fresh() (string, error) { return os.MkdirTemp(b.dir, "run-") }

// nextSeed returns a seed that no measurement had.
func (b *bench) nextSeed() uint64 {
	b.seed++
	return b.seed
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, "  "+format+"\n", args...) }
