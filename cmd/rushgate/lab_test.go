package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/internal/binary"
	"rushgate/internal/testenv"
	"rushgate/lab/trial"
)

// The lab runs from the command line as people type it, on servers that it
// starts itself, with sellers that are processes of their own, and writes both
// reports.
func TestLab(t *testing.T) {
	dir := t.TempDir()
	data, page := filepath.Join(dir, "lab.json"), filepath.Join(dir, "lab.html")
	out := succeeds(t, "lab", "--strategy", "redis-lua,redis-read-write,rushgate-memory", "--stock", "100", "--buyers", "500",
		"--connections", "32", "--duration", "30s", "--crash", "--admin", "--out", data, "--out", page)
	for _, word := range []string{"redis-lua", "redis-read-write", "rushgate-memory-sqlite", "oversold", "exact in everything that was tried", data, page} {
		if !strings.Contains(out, word) {
			t.Errorf("the table does not say %q:\n%s", word, out)
		}
	}
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Partial bool
		Ways    []map[string]any
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Partial || len(r.Ways) != 3 {
		t.Fatalf("partial %v, %d ways", r.Partial, len(r.Ways))
	}
	for _, w := range r.Ways {
		for _, field := range []string{"name", "family", "granted", "stock_left", "oversold", "undersold", "duplicates", "contended",
			"lost_after_crash", "claims_per_second", "p50_ms", "p99_ms", "p999_ms"} {
			if w[field] == nil {
				t.Errorf("%s has no %s", w["name"], field)
			}
		}
		if failover, inRedis := w["failover"].(map[string]any); inRedis != strings.HasPrefix(w["name"].(string), "redis-") || inRedis && failover["orders_lost"] == nil {
			t.Errorf("%s failed over: %v", w["name"], failover)
		}
		if broken := w["name"] == "redis-read-write"; broken != (w["oversold"].(float64) > 0) {
			t.Errorf("%s oversold %v", w["name"], w["oversold"])
		}
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "<!doctype html>") {
		t.Errorf("the page is none: %v", err)
	}
}

// What is wrong is one line that says how to mend it.
func TestLabRefusesWithOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"unknown strategy": {[]string{"--strategy", "redis-magic"}, []string{`--strategy "redis-magic"`, "redis-lua"}},
		"zero stock":       {[]string{"--stock", "0"}, []string{"--stock 0", "1 to"}},
		"no buyers":        {[]string{"--buyers=-1"}, []string{"--buyers -1"}},
		"no connections":   {[]string{"--connections", "0"}, []string{"--connections 0"}},
		"too long":         {[]string{"--duration", "1h"}, []string{"--duration 1h0m0s", "1m0s"}},
		"no such folder":   {[]string{"--out", "/nowhere/lab.html"}, []string{"--out", "/nowhere/lab.html"}},
		"too much stock":   {[]string{"--stock", "2000000"}, []string{"--stock 2000000: must be 1 to 1000000"}},
		"mistyped":         {[]string{"--strategy", "redis-lau"}, []string{"did you mean redis-lua?"}},
		"no name":          {[]string{"--out", ""}, []string{"--out", "ends in .json"}},
		"nobody there":     {[]string{"--strategy", "redis-lua", "--redis", "127.0.0.1:1"}, []string{"--redis: ", "127.0.0.1:1"}},
		"not an address":   {[]string{"--strategy", "sql-unique-mariadb", "--mariadb", "127.0.0.1:1", "--out", "/nowhere/lab.html"}, []string{"--mariadb: write mysql://"}},
	} {
		t.Run(name, func(t *testing.T) {
			fails(t, command(t, append([]string{"lab"}, c.args...)...), c.words...)
		})
	}
}

// TestLabTooFewFiles: a limit of the system is told before the sellers meet it.
func TestLabTooFewFiles(t *testing.T) {
	out, err := exec.Command("sh", "-c", "ulimit -n 256 && exec "+program+" lab --strategy redis-lua --connections 1024").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "may have 256 files open") || !strings.Contains(string(out), "--connections 1024") {
		t.Errorf("%v: %s", err, out)
	}
}

// Without a server the lab does what it can, and says what it left out.
func TestLabWithoutServers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lab.json")
	r, err := binary.RunWith(program, []string{"PATH=/nowhere"}, "", "lab", "--strategy", "redis-lua,sql-unique-sqlite,rushgate-memory",
		"--stock", "20", "--buyers", "100", "--duration", "1s", "--out", data)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 0 || !strings.Contains(r.Out, "1 of the ways is left out: redis-server is not installed") || !strings.Contains(r.Out, "sql-unique-sqlite") {
		t.Errorf("status %d\n%s%s", r.Status, r.Out, r.Err)
	}
	if text, err := os.ReadFile(data); err != nil || !strings.Contains(string(text), `"partial": true`) {
		t.Errorf("the report is not said to be partial: %v", err)
	}
}

// TestLabDefaults: the command line and the package know one plan.
func TestLabDefaults(t *testing.T) {
	var c commands
	parser, err := newParser(t.Context(), &c, world{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"lab"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trial.Defaults(), c.Lab.plan()); diff != "" {
		t.Error(diff)
	}
}

// TestLabTooManyConnections: what a server does not take is said, the rest is
// tried, and the exit status tells scripts.
func TestLabTooManyConnections(t *testing.T) {
	small := testenv.PostgreSQL(t, "max_connections=20")
	data := filepath.Join(t.TempDir(), "lab.json")
	r := command(t, "lab", "--strategy", "sql-unique-postgres,rushgate-memory", "--postgres", small.URL("postgres"),
		"--stock", "20", "--buyers", "100", "--duration", "30s", "--out", data)
	fails(t, r, "not tried to the end", "sql-unique-postgres")
	if !strings.Contains(r.Out, "takes 20 connections, and --connections 64") || !strings.Contains(r.Out, "rushgate-memory-sqlite") {
		t.Error(r.Out)
	}
	if text, err := os.ReadFile(data); err != nil || !strings.Contains(string(text), `"granted": 20`) {
		t.Errorf("the rest is not in the report: %v", err)
	}
}
