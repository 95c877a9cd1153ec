package app

import (
	"testing"
)

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.1.2.3:1": true, "[::1]:8080": true, "localhost:80": true, "[::ffff:127.0.0.1]:80": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "192.168.1.5:80": false, "example.com:80": false,
		"localhost.example.com:80": false, "127.0.0.1": false, "": false,
	} {
		if got := loopback(listen); got != want {
			t.Errorf("loopback(%q) = %v", listen, got)
		}
	}
}

// Whatever somebody writes into a URL, its password is told to nobody.
func TestPlaceTellsNoSecret(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite": "sqlite", "memory": "memory",
		"postgres://u:secret@db:5432/x?sslmode=disable": "postgres://db:5432/x",
		"postgres://u:se@cr/et@db/x":                    "postgres://db/x",
		"postgres://u:se?cret@db/x":                     "postgres://db/x",
		"postgres://db/x?password=secret":               "postgres://db/x",
		"redis://:%zzsecret@a:1,b:2/0?sentinel=m":       "redis://a:1,b:2/0",
		"redis://u:se#cret@a":                           "redis://a",
	} {
		if got := place(url); got != want {
			t.Errorf("place(%q) = %q, want %q", url, got, want)
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	c := Defaults()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestUsableMemory(t *testing.T) {
	if n := memTotal([]byte("MemTotal:        4028440 kB\nMemFree: 1 kB\n")); n != 4028440<<10 {
		t.Errorf("MemTotal is %d", n)
	}
	if n := memTotal([]byte("nonsense")); n < 1<<60 {
		t.Errorf("an unknown bound is %d", n)
	}
	if n := usableMemory(); n < 1<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
