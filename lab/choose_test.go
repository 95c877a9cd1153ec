package lab_test

import (
	"strings"
	"testing"

	"rushgate/lab"
)

func TestChoose(t *testing.T) {
	for word, want := range map[string]string{
		"redis-lua":   "redis-lua",
		" Redis-LUA ": "redis-lua",
		"sql-unique":  "sql-unique-postgres sql-unique-mariadb sql-unique-sqlite",
		"rushgate":    "rushgate-memory-sqlite rushgate-redis-postgres", // and not our lock
		"postgres":    "sql-read-write-postgres sql-for-update-postgres sql-version-postgres sql-where-stock-postgres sql-unique-postgres rushgate-redis-postgres",
	} {
		ways, err := lab.Choose([]string{word})
		var names []string
		for _, w := range ways {
			names = append(names, w.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", word, got, err, want)
		}
	}
	for word, want := range map[string]string{
		"redis-lau":           "did you mean redis-lua?",
		"locks":               "did you mean lock?",
		"mariabd":             "did you mean mariadb?",
		"sql-vershion-sqlite": "did you mean sql-version-sqlite?",
		"magic":               "there are redis-read-write, redis-watch",
		"re":                  "there are redis-read-write",
		"":                    "there are redis-read-write",
	} {
		if _, err := lab.Choose([]string{word}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", word, err, want)
		}
	}
}
