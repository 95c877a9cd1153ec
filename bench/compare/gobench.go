package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gobenchmark runs a Go benchmark of a package, and returns what it says.
type gobenchmark func(ctx context.Context, pkg, pattern, times string) (said []byte, err error)

func goTest(ctx context.Context, pkg, pattern, times string) ([]byte, error) {
	said, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", times, "-timeout", "15m", pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmark %s of %s: %w\n%s", pattern, pkg, err, said)
	}
	return said, nil
}

// medians are what a benchmark reports: "NAME unit" → value.
type medians map[string]float64

// figures returns metrics by their names. A benchmark that does not report one of
// them any more is an error: there is no row of the table without its figure.
func (m medians) figures(names ...string) ([]figure, error) {
	found := make([]figure, len(names))
	for i, name := range names {
		value, ok := m[name]
		if !ok {
			return nil, fmt.Errorf("the benchmark reports no %q; it reports %q", name, slices.Sorted(maps.Keys(m)))
		}
		found[i].value = value
	}
	return found, nil
}

// gobench runs a Go benchmark, which starts its servers itself, once for each
// round, and returns the median of every metric.
func (b *bench) gobench(ctx context.Context, pkg, pattern, times string) (medians, error) {
	all := map[string][]float64{}
	for range b.rounds {
		said, err := b.benchmark(ctx, pkg, pattern, times)
		if err != nil {
			return nil, err
		}
		for name, value := range metrics(said) {
			all[name] = append(all[name], value)
		}
	}
	m := medians{}
	for name, values := range all {
		slices.Sort(values)
		m[name] = values[len(values)/2]
		b.say("%-60s %12s", name, number(m[name]))
	}
	return m, nil
}

// cores is the suffix with which Go names how many it may use.
var cores = regexp.MustCompile(`-\d+$`)

// metrics reads what a benchmark says (https://go.dev/design/14313-benchmark-format).
func metrics(said []byte) map[string]float64 {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(said)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := cores.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[name+" "+fields[i+1]] = v
			}
		}
	}
	return found
}
