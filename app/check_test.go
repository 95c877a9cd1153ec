package app_test

import (
	"strings"
	"testing"

	"rushgate/app"
	"rushgate/internal/testenv"
)

// checked is what check says of a configuration: by name, with its mark.
func checked(t *testing.T, cfg app.Config) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, p := range app.Check(t.Context(), cfg) {
		mark := "ok: "
		switch {
		case !p.OK:
			mark = "FAILED: "
		case p.Warning:
			mark = "warning: "
		}
		said[p.Name] = mark + p.Detail
		if strings.Contains(p.Detail, "\n") {
			t.Errorf("%s: more than one line: %q", p.Name, p.Detail)
		}
	}
	return said
}

// wants holds what check says against the beginning and some words of it.
func wants(t *testing.T, said map[string]string, name, mark string, words ...string) {
	t.Helper()
	got, ok := said[name]
	if !ok || !strings.HasPrefix(got, mark+": ") {
		t.Errorf("%s: %q, want %s", name, got, mark)
	}
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%s: %q does not say %q", name, got, w)
		}
	}
}

// A healthy cluster: everything is fine, before the tables are made and after,
// and the nodes that sell are told.
func TestCheckOfAHealthyCluster(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		t.Run(name, func(t *testing.T) {
			cfg := clusterConfig(t, "checker", database(t), privately(t, redis.Server(t)))
			said := checked(t, cfg)
			wants(t, said, "ledger", "ok", "no tables yet")
			wants(t, said, "gate owner", "ok", "nobody")
			join(t, clusterConfig(t, "one", cfg.Ledger, cfg.Gate)).sell(t, "s", 5)
			said = checked(t, cfg)
			for probe, what := range said {
				if strings.HasPrefix(what, "FAILED") {
					t.Errorf("%s: %s", probe, what)
				}
				if strings.Contains(what, parse(t, cfg.Ledger).User.String()) {
					t.Errorf("%s tells the password: %s", probe, what)
				}
			}
			wants(t, said, "ledger", "ok", "tables of version")
			wants(t, said, "ledger clock", "ok")
			wants(t, said, "ledger TLS", "ok", "this machine")
			wants(t, said, "ledger connections", "ok")
			wants(t, said, "database", "ok", "1 sales")
			wants(t, said, "nodes", "ok", "node/0: one (http://")
			wants(t, said, "gate owner", "ok", "the ledger ")
			addr := "gate " + redis.Server(t).Addr
			wants(t, said, addr, "ok", "master", "noeviction")
			wants(t, said, addr+" persistence", "warning", "appendonly is off", "revoked")
			wants(t, said, addr+" replicas", "warning", "replicated")
			wants(t, said, addr+" clock", "ok")

			elsewhere := cfg
			elsewhere.Gate = redis.Server(t).URL() + "/1?prefix=x:"
			wants(t, checked(t, elsewhere), "nodes", "warning", "same Redis")
			other := cfg
			other.Ledger = database(t)
			join(t, clusterConfig(t, "other", other.Ledger, privately(t, redis.Server(t))+"other:")).sell(t, "s", 5)
			wants(t, checked(t, other), "gate owner", "FAILED", "another ledger", "?prefix=")
		})
	}
}

// Settings that cost a guarantee are told, each in one line.
func TestCheckTellsWhatSettingsCost(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := testenv.PostgreSQL(t, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=11")
		said := checked(t, clusterConfig(t, "n", s.URL("postgres"), "memory"))
		wants(t, said, "ledger fsync", "warning", "power loss", "acknowledged")
		wants(t, said, "ledger synchronous_commit", "warning", "off")
		wants(t, said, "ledger full_page_writes", "warning", "power loss")
		wants(t, said, "ledger connections", "warning", "max_connections")
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		s := testenv.MariaDB(t, "innodb_flush_log_at_trx_commit=2", "log_bin=binlog", "sync_binlog=0", "innodb_doublewrite=OFF")
		if err := s.CreateDatabase("x"); err != nil {
			t.Fatal(err)
		}
		said := checked(t, clusterConfig(t, "n", s.URL("x"), "memory"))
		wants(t, said, "ledger innodb_flush_log_at_trx_commit", "warning", "power loss", "acknowledged")
		wants(t, said, "ledger sync_binlog", "warning", "power loss")
		wants(t, said, "ledger innodb_doublewrite", "warning", "power loss")
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for settings, want := range map[string]string{"always": "survives", "everysec": "about a second"} {
			s := testenv.Redis(t, "appendonly yes", "appendfsync "+settings, "maxmemory 100mb")
			said := checked(t, clusterConfig(t, "n", "sqlite", s.URL()))
			wants(t, said, "gate "+s.Addr+" persistence", "ok", settings, want)
			wants(t, said, "gate "+s.Addr, "ok", "of 100 MiB")
		}
	})
}
