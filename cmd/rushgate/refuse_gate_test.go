package main

import (
	"strings"
	"testing"

	"rushgate/internal/testenv"
)

// Whatever is wrong with a Redis is one line that names the setting and the mend.
func TestServeRefusesAGate(t *testing.T) {
	t.Parallel()
	ledger := postgres.Server(t).NewDatabase(t)
	closed := testenv.Redis(t, "requirepass sesame")
	weak := testenv.Redis(t, "maxmemory 100mb", "maxmemory-policy allkeys-lru")
	replica := testenv.Redis(t, "replicaof "+strings.Replace(redis.Server(t).Addr, ":", " ", 1))
	for name, c := range map[string]struct {
		gate  string
		words []string
	}{
		"away":          {"redis://" + nobody, []string{nobody, "refused"}},
		"password":      {"redis://:a-wrong-secret@" + closed.Addr, []string{"password"}},
		"no password":   {"redis://" + closed.Addr, []string{"password", "redis://:PASSWORD@host"}},
		"TLS":           {"rediss://" + redis.Server(t).Addr, []string{"TLS", "redis://"}},
		"eviction":      {weak.URL(), []string{"maxmemory-policy", "allkeys-lru", "noeviction"}},
		"replica":       {replica.URL(), []string{"read-only replica", "master", "sentinel="}},
		"not a Redis":   {"redis://" + postgres.Server(t).Addr, []string{"Redis"}},
		"a wrong index": {redis.Server(t).URL() + "/99", []string{"DB index"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, []string{"--ledger", ledger, "--gate", c.gate}, append(c.words, "--gate")...)
		})
	}
}

// Two clusters on one Redis would take each other's sales for their own.
func TestTwoClustersOnOneRedisAreRefused(t *testing.T) {
	t.Parallel()
	gate := testenv.Redis(t).URL()
	one := node(t, "one", postgres.Server(t).NewDatabase(t), "--gate", gate)
	other := mariadb.Server(t).NewDatabase(t)
	fails(t, command(t, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--admin-token", clusterToken, "--ledger", other, "--gate", gate),
		"--gate", "another ledger", "?prefix=")
	await(t, node(t, "two", other, "--gate", gate+"?prefix=other:"), "a prefix of its own is enough", sells)
	await(t, one, "the first one does not mind", sells)
}
