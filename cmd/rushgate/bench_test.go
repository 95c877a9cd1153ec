package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What the command prints is what the ledger says.
func TestBenchTellsWhatWasRecorded(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	for _, mode := range [][]string{
		{"--mode", "closed", "--connections", "4"},
		{"--mode", "closed", "--connections", "2", "--batch", "10", "--users", "random"},
		{"--mode", "open", "--rate", "5000", "--connections", "8"},
	} {
		args := append([]string{"bench", "--server", s.URL, "--data", data, "--stock", "150", "--requests", "400",
			"--duration", "1m", "--json"}, mode...)
		var m measurement
		if err := json.Unmarshal([]byte(succeeds(t, args...)), &m); err != nil {
			t.Fatal(err)
		}
		c := m.Load.All
		if c.Requests != 400 || c.Accepted != 150 || m.Recorded != 150 {
			t.Errorf("%v: %d requests, %d accepted, %d recorded; there were 400 for 150 units", mode, c.Requests, c.Accepted, m.Recorded)
		}
		if all := c.Accepted + c.RefusedAll(); all != c.Requests*int64(m.Load.PerRequest) {
			t.Errorf("%v: %d claims were answered, %d asked for: %v", mode, all, c.Requests*int64(m.Load.PerRequest), c.Refused)
		}
		if m.Durability != "recorded" || m.Hardware == "" {
			t.Errorf("%v: durability %q, hardware %q", mode, m.Durability, m.Hardware)
		}
	}
	// The sales that it made are closed: nobody can buy what nobody sells.
	if out := succeeds(t, "sale", "list", "--server", s.URL, "--data", data); strings.Count(out, "closed") < 3 {
		t.Errorf("sales are left open:\n%s", out)
	}
}

func TestBenchRefusesWhatItCannotDo(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	on := func(args ...string) []string {
		return append([]string{"bench", "--server", s.URL, "--data", data}, args...)
	}
	fails(t, command(t, on("--rate", "0")...), "rate")
	fails(t, command(t, on("--connections", "0")...), "connections")
	fails(t, command(t, on("--warmup", "20s")...), "warm-up")
	fails(t, command(t, on("--sale", "nothing")...), "not_found")
	if out := succeeds(t, "sale", "list", "--server", s.URL, "--data", data); strings.Contains(out, "bench-") {
		t.Errorf("a refused plan left a sale behind:\n%s", out)
	}
}
