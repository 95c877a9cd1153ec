package main

import "testing"

func TestMetricsOfABenchmark(t *testing.T) {
	m := metrics([]byte("goos: linux\nBenchmarkDecisions/granted/batch=64-2 \t 1000 \t 3291 ns/op \t 303843 decisions/s\nPASS\n"))
	if len(m) != 2 || m["Decisions/granted/batch=64 decisions/s"] != 303843 || m["Decisions/granted/batch=64 ns/op"] != 3291 {
		t.Fatalf("%v", m)
	}
}
