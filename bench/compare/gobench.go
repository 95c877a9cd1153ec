package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gobench runs a Go benchmark of a package, which starts its servers itself,
// once for each round, and returns the median of every metric that it reports:
// "NAME unit" → value.
func (b *bench) gobench(ctx context.Context, pkg, pattern, times string) (map[string]float64, error) {
	all := map[string][]float64{}
	for range b.rounds {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", times, "-timeout", "15m", pkg)
		said, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("benchmark %s of %s: %w\n%s", pattern, pkg, err, said)
		}
		for name, value := range metrics(said) {
			all[name] = append(all[name], value)
		}
	}
	medians := map[string]float64{}
	for name, values := range all {
		slices.Sort(values)
		medians[name] = values[len(values)/2]
		b.say("%-60s %12s", name, number(medians[name]))
	}
	return medians, nil
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
