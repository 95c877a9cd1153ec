package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"rushgate/id"
)

// TestTheScriptsSayWhatTheRegisterSays: the same questions to a register in
// Redis and to an id.Register, whatever is in them, have the same answers.
func TestTheScriptsSayWhatTheRegisterSays(t *testing.T) {
	c := client(t, server.Server(t).Addr)
	run := runID(t, c)
	store := open(t, c, "model")
	do := func(t interface{ Fatal(...any) }, cmd rueidis.Completed) {
		if err := c.Do(context.Background(), cmd).Error(); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now().UnixMilli()
		// Far from now on both sides: the clock goes on between the two.
		when := func(what string) int64 {
			return now + rapid.SampledFrom([]int64{-2_000_000, -1_000_000, 1_000_000, 2_000_000}).Draw(t, what)
		}
		model := id.Register{}
		do(t, c.B().Del().Key("id:{model}").Build())
		if rapid.IntRange(0, 3).Draw(t, "new") > 0 {
			model = id.Register{Layout: id.Standard(1).String(), FloorMs: when("floor"), Numbers: map[int]id.Record{}}
			server := run
			if rapid.IntRange(0, 3).Draw(t, "restarted") == 0 {
				server = strings.Repeat("0", 40)
			}
			do(t, c.B().Hset().Key("id:{model}").FieldValue().FieldValue("layout", model.Layout).
				FieldValue("server", server).FieldValue("floor", fmt.Sprint(model.FloorMs)).Build())
			for n := range 2 {
				if rapid.Bool().Draw(t, "known") {
					rec := id.Record{Owner: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "owner"), FromMs: when("from")}
					rec.UntilMs = rec.FromMs + 60_000
					model.Numbers[n] = rec
					do(t, c.B().Hset().Key("id:{model}").FieldValue().FieldValue(fmt.Sprint(n), fmt.Sprintf("%d %d %s", rec.FromMs, rec.UntilMs, rec.Owner)).Build())
				}
			}
			if server != run {
				model.FloorMs = -model.FloorMs // the model is told when the time is known
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "questions") {
			ask(t, store, &model, now)
		}
	})
}

// ask asks both. A negative floor of the model says that Redis has been started
// again, and nobody has taken notice yet.
func ask(t *rapid.T, store id.Store, model *id.Register, now int64) {
	const grace = 61 * time.Second
	q := request(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "who"), time.Minute)
	if rapid.IntRange(0, 9).Draw(t, "clock") == 0 {
		q.ClockMs -= 100_000
	}
	if rapid.IntRange(0, 9).Draw(t, "layout") == 0 {
		q.Layout = id.Standard(2)
	}
	number := rapid.IntRange(0, 1).Draw(t, "number")
	what := rapid.SampledFrom([]string{"acquire", "acquire", "renew", "release"}).Draw(t, "what")
	if what == "release" {
		used := now + rapid.Int64Range(-3_000_000, 3_000_000).Draw(t, "used")
		if err := store.Release(context.Background(), number, q.Owner, used); err != nil {
			t.Fatal(err)
		}
		model.Release(number, q.Owner, used)
		return
	}
	var got, want id.Lease
	var err, wantErr error
	if what == "acquire" {
		got, err = store.Acquire(context.Background(), q)
	} else {
		got, err = store.Renew(context.Background(), number, q)
	}
	at := now
	if err == nil {
		at = got.NowMs
	}
	fit := q.Agree(at, model.Layout) == nil
	if notices := fit && (what == "acquire" || model.Numbers[number].Owner == q.Owner); model.FloorMs < 0 && notices {
		model.FloorMs = -model.FloorMs
		model.Distrust(at, grace)
	}
	if what == "acquire" {
		want, wantErr = model.Acquire(at, q, grace)
	} else {
		want, wantErr = model.Renew(at, number, q)
	}
	if got != want {
		t.Fatalf("%s of %s: %+v, the register says %+v", what, q.Owner, got, want)
	}
	for _, kind := range []error{id.ErrNoNumber, id.ErrLost, id.ErrClock, id.ErrLayout, nil} {
		if errors.Is(err, kind) != errors.Is(wantErr, kind) {
			t.Fatalf("%s of %s: %v, the register says %v", what, q.Owner, err, wantErr)
		}
	}
}

// runID is how the scripts know a Redis: see lease.lua.
func runID(t *testing.T, c rueidis.Client) string {
	info, err := c.Do(t.Context(), c.B().Info().Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, name := range []string{"run_id:", "master_replid2:", "second_repl_offset:"} {
		_, rest, _ := strings.Cut(info, name)
		word, _, _ := strings.Cut(rest, "\r")
		if word == "" {
			t.Fatalf("no %s", name)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
