package main

import (
	"strings"
	"testing"
)

func TestBooksThatDoNotAgreeMakeARunVoid(t *testing.T) {
	good := books{recorded: 100, users: 100, taken: 100, total: 1000}
	for _, c := range []struct {
		name         string
		change       func(*books)
		acknowledged int64
		want         string // part of the reason; empty: not void
	}{
		{"exact", func(*books) {}, 100, ""},
		{"cut off in flight", func(*books) {}, 95, ""},
		{"too many that nobody was told of", func(*books) {}, 80, "in flight"},
		{"lost", func(*books) {}, 101, "LOST"},
		{"oversold", func(b *books) { b.total = 99 }, 100, "OVERSOLD"},
		{"stock row", func(b *books) { b.taken = 99 }, 100, "stock rows"},
		{"two for one user", func(b *books) { b.users = 99 }, 100, "users"},
	} {
		b := good
		c.change(&b)
		got := b.against(c.acknowledged, 10)
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOneVoidRoundMakesTheFigureVoid(t *testing.T) {
	b := &bench{result: &Result{}}
	sample := func(round int, rate float64, void string, repeated bool) {
		b.result.Samples = append(b.result.Samples, Sample{Part: "claims", Round: round, System: sysRushgate, PerSecond: rate, Void: void, Repeated: repeated})
	}
	pick := func() []Sample { return b.pick("claims", sysRushgate, "", 0, "") }
	sample(1, 10, "", false)
	sample(2, 30, "", false)
	sample(3, 20, "", false)
	sample(3, 99, "", true) // disturbed: it does not count
	if f := b.figure(pick(), perSecond); f.value != 20 || f.void != "" {
		t.Errorf("figure %+v, want the median 20", f)
	}
	sample(4, 20, "LOST", true) // disturbed or not: what is lost is lost
	b.atLeast("ratio", b.figure(pick(), perSecond), figure{value: 10}, 0.5)
	b.atLeast("missing", b.figure(nil, perSecond), figure{value: 10}, 0.5)
	b.atLeast("short", figure{value: 1}, figure{value: 10}, 0.5)
	b.atMost("ok", figure{value: 1}, figure{value: 10}, 0.5)
	for i, want := range []string{"void: LOST", "void: not measured", "short", "ok"} {
		if got := b.result.Rows[i].Verdict; got != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
}
