package main

import (
	"strings"
	"testing"
	"time"
)

// FuzzConfigFile: a file is settings or an error, never anything else.
func FuzzConfigFile(f *testing.F) {
	f.Add(`{"listen": ":8080", "queue": 4096, "backend-key": ["a", "b"], "dev": true}`)
	f.Add(`{"a": {"b": 1}}`)
	f.Add(`{"a_b": 1, "a-b": 2}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := readConfigFile(strings.NewReader(text))
		if (file == nil) == (err == nil) {
			t.Fatalf("%v, %v", file, err)
		}
		for name := range file {
			if strings.Contains(name, "_") {
				t.Fatalf("a key that no flag can have: %q", name)
			}
		}
	})
}

// FuzzSaleFlags: items and moments that people type.
func FuzzSaleFlags(f *testing.F) {
	f.Add("eu42:EU 42=30", "+10m")
	f.Add("a=b=1", "2026-11-11T00:00:00+08:00")
	f.Fuzz(func(t *testing.T, item, moment string) {
		s := saleCreateCmd{Item: []string{item}}
		if items, err := s.items(); err == nil && len(items) != 1 {
			t.Fatalf("%q makes %d items", item, len(items))
		}
		if at, err := parseMoment("--opens-at", moment, time.Unix(1_800_000_000, 0)); err == nil && moment != "" && at.IsZero() {
			t.Fatalf("%q is no time and no error", moment)
		}
	})
}
