package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestMetricsOfABenchmark(t *testing.T) {
	m := metrics([]byte("goos: linux\nBenchmarkDecisions/granted/batch=64-2 \t 1000 \t 3291 ns/op \t 303843 decisions/s\nPASS\n"))
	if len(m) != 2 || m["Decisions/granted/batch=64 decisions/s"] != 303843 || m["Decisions/granted/batch=64 ns/op"] != 3291 {
		t.Fatalf("%v", m)
	}
}

// told are benches that hear from every Go benchmark what is said here.
func told(said string) *bench {
	return &bench{settings: &settings{rounds: 1}, out: io.Discard, result: &Result{},
		benchmark: func(context.Context, string, string, string) ([]byte, error) { return []byte(said), nil }}
}

func TestTheFastestBareInsertCounts(t *testing.T) {
	b := told("BenchmarkRecordAgainstBareInsert-2 300 7 ns/op 30000 record-claims/s 20000 values-rows/s 40000 unnest-rows/s 90000 copy-rows/s " +
		"50000 bare-rows/s 10000 bare-prepared-rows/s\n")
	if err := b.ledgers(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Row{{Value: 0.75, Detail: "30000 ÷ 40000", Verdict: "short"}, {Value: 0.6, Detail: "30000 ÷ 50000", Verdict: "short"}} {
		if got := b.result.Rows[i]; got.Value != want.Value || got.Detail != want.Detail || got.Verdict != want.Verdict {
			t.Errorf("%+v", got)
		}
	}
}

// TestAMetricThatIsMissing ends the run: a row is never made of a figure that
// nobody has measured.
func TestAMetricThatIsMissing(t *testing.T) {
	var decisions []string
	for _, size := range []string{"64", "256", "1000"} {
		for _, what := range []string{"granted", "granted+settled", "refused"} {
			decisions = append(decisions, fmt.Sprintf("BenchmarkDecisions/%s/batch=%s-2 1 5 decisions/s", what, size))
		}
	}
	for name, c := range map[string]struct {
		part func(*bench, context.Context) error
		says []string // a metric each, all of which are needed
	}{
		"once":      {(*bench).once, onceMetrics()},
		"decisions": {(*bench).decisions, append(decisions, "BenchmarkDecisions/classic-2 1 5 decisions/s")},
		"limits":    {(*bench).limits, limitMetrics()},
		"ledgers": {(*bench).ledgers, []string{
			"BenchmarkRecordAgainstBareInsert-2 1 5 record-claims/s", "BenchmarkRecordAgainstBareInsert-2 1 5 values-rows/s",
			"BenchmarkRecordAgainstBareInsert-2 1 5 unnest-rows/s", "BenchmarkRecordAgainstBareInsert-2 1 5 bare-rows/s",
			"BenchmarkRecordAgainstBareInsert-2 1 5 bare-prepared-rows/s"}},
		"shards": {(*bench).shards, []string{
			"BenchmarkShards/shards=1-2 1 5 decisions/s", "BenchmarkShards/shards=1-2 1 5 redis-us/claim",
			"BenchmarkShards/shards=2-2 1 5 decisions/s", "BenchmarkShards/shards=2-2 1 5 redis-us/claim",
			"BenchmarkShards/shards=4-2 1 5 decisions/s", "BenchmarkShards/shards=4-2 1 5 redis-us/claim"}},
	} {
		if err := c.part(told(strings.Join(c.says, "\n")), t.Context()); err != nil {
			t.Errorf("%s, all there: %v", name, err)
		}
		for i, line := range c.says {
			rest := append(append([]string{}, c.says[:i]...), c.says[i+1:]...)
			err := c.part(told(strings.Join(rest, "\n")), t.Context())
			unit := line[strings.LastIndexByte(line, ' ')+1:]
			if err == nil || !strings.Contains(err.Error(), unit) {
				t.Errorf("%s without %q: %v", name, line, err)
			}
		}
	}
}

func limitMetrics() []string {
	limits := []string{"BenchmarkBytes/ours-2 1 5 bytes/key", "BenchmarkBytes/xtime-2 1 5 bytes/key", "BenchmarkBytes/throttled-2 1 5 bytes/key"}
	for where, libraries := range map[string][]string{"Memory": {"ours", "xtime", "throttled"}, "Redis": {"ours", "redis_rate"}} {
		for _, library := range libraries {
			for _, load := range []string{"hot", "refused", "many"} {
				for _, callers := range []int{1, 64} {
					limits = append(limits, fmt.Sprintf("Benchmark%s/%s/callers=%d/%s-2 1 5 decisions/s", where, load, callers, library))
				}
			}
		}
	}
	return limits
}

func onceMetrics() []string {
	var once []string
	for at, rows := range map[string][]plainly{"": redisOnce(), "/postgres": sqlOnce("postgres"), "/mariadb": sqlOnce("mariadb")} {
		for _, row := range rows {
			for _, name := range []string{row.ours, row.plain} {
				if line := "BenchmarkOnce" + at + "-2 1 5 " + name + "/s"; !slices.Contains(once, line) {
					once = append(once, line)
				}
			}
		}
	}
	for _, kind := range onceKinds() {
		once = append(once, "BenchmarkMemory/"+kind+"-2 1 5 MB/million")
	}
	return once
}
