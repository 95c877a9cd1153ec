package deptest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func ours(t *testing.T) *Tree {
	t.Helper()
	tree, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 20 {
		t.Fatalf("read only %d files: this is not the module", len(tree.Files))
	}
	return tree
}

func TestImportArrows(t *testing.T) {
	for _, wrong := range ours(t).BrokenArrows() {
		t.Error(wrong)
	}
}

func TestHabits(t *testing.T) {
	for _, wrong := range ours(t).BrokenHabits() {
		t.Error(wrong)
	}
}

func file(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }

// Every rule is shown code that breaks it: a rule that cannot fail is worse than none.
func TestEveryArrowCanBreak(t *testing.T) {
	for name, bad := range map[string]string{
		"a.go":                    "package rushgate; import _ \"net/http\"",
		"b.go":                    "package rushgate; import _ \"os\"",
		"c.go":                    "package rushgate; import _ \"database/sql\"",
		"d.go":                    "package rushgate; import _ \"rushgate/gate/memory\"",
		"e.go":                    "package rushgate; import _ \"github.com/google/uuid\"",
		"gate/redis/a.go":         "package redis; import _ \"rushgate/ledger/sqlite\"",
		"ledger/postgres/a.go":    "package postgres; import _ \"rushgate/server\"",
		"server/a.go":             "package server; import _ \"rushgate/gate/memory\"",
		"server/b.go":             "package server; import _ \"rushgate/ledger/sqlite\"",
		"admission/a.go":          "package admission; import _ \"rushgate/server\"",
		"client/a.go":             "package client; import _ \"rushgate\"",
		"cmd/rushgate/a.go":       "package main; import _ \"rushgate/ledger/sqlite\"",
		"lock/a.go":               "package lock; import _ \"rushgate\"",
		"id/a.go":                 "package id; import _ \"rushgate/gate/memory\"", // reaches the root through it
		"f.go":                    "package rushgate; import _ \"rushgate/id/redis\"",
		"id/b.go":                 "package id; import _ \"rushgate/limit\"",
		"id/sql/a.go":             "package sql; import _ \"rushgate/internal/testenv\"",
		"id/redis/a.go":           "package redis; import _ \"rushgate/id/idtest\"",
		"bench/load/a.go":         "package load; import _ \"rushgate\"",
		"internal/lifecycle/a.go": "package lifecycle; import _ \"rushgate\"",
		"server/c.go":             "package server; import _ \"rushgate/app\"",
		"app/a.go":                "package app; import _ \"rushgate/gate/gatetest\"",
	} {
		tree, err := Load(fstest.MapFS{
			"gate/memory/gate.go": file("package memory; import _ \"rushgate\""),
			name:                  file(bad),
		})
		if err != nil {
			t.Fatal(err)
		}
		wrong := tree.BrokenArrows()
		if len(wrong) == 0 || !strings.HasPrefix(wrong[0], name) {
			t.Errorf("%s: %s: no rule objected (%q)", name, bad, wrong)
		}
	}
}

func TestWhatIsAllowedIsNotForbidden(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"a.go":                       file("package rushgate; import _ \"log/slog\""),
		"b.go":                       file("package rushgate; import _ \"rushgate/id\""),
		"id/redis/a.go":              file("package redis; import _ \"rushgate/id\""),
		"a_test.go":                  file("package rushgate_test; import _ \"rushgate/gate/memory\""),
		"gate/memory/a.go":           file("package memory; import _ \"rushgate\""),
		"gate/memory/a_test.go":      file("package memory; import _ \"rushgate/gate/gatetest\""),
		"gate/gatetest/a.go":         file("package gatetest; import _ \"rushgate\""),
		"server/a.go":                file("package server; import (_ \"rushgate\"; _ \"rushgate/admission\"; _ \"net/http\")"),
		"app/a.go":                   file("package app; import (_ \"rushgate/server\"; _ \"rushgate/gate/memory\"; _ \"rushgate/ledger/sqlite\")"),
		"cmd/rushgate/a.go":          file("package main; import (_ \"rushgate/app\"; _ \"rushgate/bench/load\")"),
		"bench/compare/a.go":         file("package main; import (_ \"rushgate/internal/testenv\"; _ \"rushgate/ledger/sqlite\")"),
		"draw/a.go":                  file("package draw; import _ \"math/rand/v2\""),
		"cmd/rushgate/progress/a.go": file("package progress; import _ \"rushgate/client\""),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range tree.BrokenArrows() {
		t.Error(wrong)
	}
}

func TestEveryHabitCanBreak(t *testing.T) {
	for name, bad := range map[string]string{
		"init.go":       "package p; func init() {}",
		"fatal.go":      "package p; func f() { log.Fatal() }",
		"exit.go":       "package p; func f() { os.Exit(1) }",
		"count.go":      "package p; var n int; func f() { n++ }",
		"set.go":        "package p; var n = map[string]int{}; func f() { n[\"a\"] = 1 }",
		"field.go":      "package p; var s struct{ n int }; func f() { s.n = 2 }",
		"mutex.go":      "package p; var mu sync.Mutex",
		"channel.go":    "package p; var c = make(chan int)",
		"long.go":       "package p\n" + strings.Repeat("//\n", maxLines),
		"utils/a.go":    "package utils",
		"sleep_test.go": "package p; func f() { time.Sleep(1) }",
		"skip_test.go":  "package p; func f(t *testing.T) { t.Skip() }",
	} {
		tree, err := Load(fstest.MapFS{name: file(bad)})
		if err != nil {
			t.Fatal(err)
		}
		if wrong := tree.BrokenHabits(); len(wrong) == 0 {
			t.Errorf("%s: no rule objected", name)
		}
	}
}

func TestGoodHabitsAreNotForbidden(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"cmd/x/main.go": file("package main; func main() { os.Exit(1) }"),
		"a.go": file("package p; var errX = errors.New(\"x\"); var table = map[string]int{\"a\": 1}; var _ I = T{}\n" +
			"func f() { n := 0; n++; table := 1; table = 2; _ = table; s.table = 3 }"),
		"a_test.go": file("package p; func f() { <-time.After(1) }; var g = func(t *rapid.T) { t.Skip() }"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range tree.BrokenHabits() {
		t.Error(wrong)
	}
}
