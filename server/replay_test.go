package server_test

import (
	"errors"
	"sync"
	"testing"
)

func TestTheSameKeyIsTheSameClaim(t *testing.T) {
	w := start(t)
	w.sale("s", 5, `,"per_user":2`)
	first := w.want(w.claim("s", `{"user":"u"}`, "Idempotency-Key", "k1"), 201, "")
	if _, there := first.body["replayed"]; there {
		t.Fatal(first.raw)
	}
	replay := func() {
		t.Helper()
		got := w.want(w.claim("s", `{"user":"u","item":"a","quantity":1}`, "Idempotency-Key", "k1"), 200, "")
		if got.text("id") != first.text("id") || got.body["replayed"] != true {
			t.Fatal(got.raw)
		}
	}
	replay()
	w.want(w.claim("s", `{"user":"u","quantity":2}`, "Idempotency-Key", "k1"), 422, "key_reused")
	w.want(w.claim("s", `{"user":"v"}`, "Idempotency-Key", "k1"), 422, "key_reused")
	w.restart()
	replay()
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + first.text("id") + "/release"}), 200, "")
	if got := w.want(w.claim("s", `{"user":"u"}`, "Idempotency-Key", "k1"), 200, ""); got.text("state") != "released" {
		t.Fatal(got.raw) // the same claim still, and the truth about it
	}
	if stock := w.admin("GET", "/v1/sales/s/stock", ""); stock.body["items"].([]any)[0].(map[string]any)["free"] != 5.0 {
		t.Fatal(stock.raw)
	}
}

func TestAnImpatientBuyerGetsOneClaim(t *testing.T) {
	w := start(t)
	w.sale("s", 50, `,"per_user":0`)
	const clicks = 40
	got := make([]answer, clicks)
	errs := make([]error, clicks)
	var all sync.WaitGroup
	for i := range clicks {
		all.Go(func() {
			got[i], errs[i] = w.try(ask{"POST", "/v1/sales/s/claims", `{"user":"u"}`, []string{"Idempotency-Key", "k"}})
		})
	}
	all.Wait()
	w.must(errors.Join(errs...))
	made := 0
	for _, a := range got {
		if a.text("id") != got[0].text("id") || a.status != 200 && a.status != 201 {
			t.Fatal(a.raw)
		}
		if a.status == 201 {
			made++
		}
	}
	if made != 1 {
		t.Fatalf("%d answers say that they made it", made)
	}
}

func TestTwoRequestsOfOneUserAtOnceMakeOneClaim(t *testing.T) {
	w := start(t)
	w.sale("s", 50, "")
	granted := make([]bool, 30)
	var all sync.WaitGroup
	for i := range granted {
		all.Go(func() {
			got, err := w.try(ask{"POST", "/v1/sales/s/claims", `{"user":"u"}`, nil})
			granted[i] = err == nil && got.status == 201
		})
	}
	all.Wait()
	n := 0
	for _, g := range granted {
		if g {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d claims", n)
	}
}
