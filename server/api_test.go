package server_test

import (
	"testing"
	"time"
)

func TestASaleFromItsStartToItsEnd(t *testing.T) {
	w := start(t)
	got := w.want(w.admin("POST", "/v1/sales", `{"id":"phones","name":"Phones","opens_at":null,"closes_at":null,"per_user":1,"hold":"15m","ack":"recorded",
		"items":[{"id":"black-128","name":"Black","stock":2}]}`), 201, "")
	if got.text("state") != "open" || got.text("hold") != "15m" || got.header.Get("Location") != "/v1/sales/phones" {
		t.Fatal(got.raw)
	}
	first := w.want(w.claim("phones", `{"user":"u1","item":"black-128","quantity":1}`), 201, "")
	if first.text("state") != "held" || first.text("user") != "u1" || first.text("expires_at") != "2026-11-11T00:15:00.000Z" {
		t.Fatal(first.raw)
	}
	if again := w.want(w.claim("phones", `{"user":"u1"}`), 409, "limit_reached"); again.body["claims"].([]any)[0] != first.text("id") {
		t.Fatal(again.raw)
	}
	second := w.want(w.claim("phones", `{"user":"u2"}`), 201, "")
	w.want(w.claim("phones", `{"user":"u3"}`), 409, "sold_out")
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + first.text("id") + "/confirm"}), 200, "")
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + first.text("id") + "/confirm"}), 200, "")
	if wrong := w.want(w.send(ask{method: "POST", path: "/v1/claims/" + first.text("id") + "/release"}), 409, "wrong_state"); wrong.text("state") != "confirmed" {
		t.Fatal(wrong.raw)
	}
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + second.text("id") + "/release"}), 200, "")
	third := w.want(w.claim("phones", `{"user":"u3"}`), 201, "")
	w.clock.Add(15 * time.Minute)
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + third.text("id") + "/confirm"}), 409, "wrong_state")
	if got := w.send(ask{method: "GET", path: "/v1/claims/" + third.text("id")}); got.text("state") != "expired" {
		t.Fatal(got.raw)
	}
	if got := w.admin("GET", "/v1/sales/phones/audit", ""); got.body["ok"] != true {
		t.Fatal(got.raw)
	}
	w.want(w.admin("POST", "/v1/sales/phones/restock", `{"item":"black-128","add":5}`), 200, "")
	w.want(w.admin("POST", "/v1/sales/phones/restock", `{"item":"black-128","add":-7}`), 409, "not_enough_free")
	w.want(w.admin("POST", "/v1/sales/phones/freeze", ""), 200, "")
	w.want(w.claim("phones", `{"user":"u4"}`), 409, "frozen")
	w.want(w.admin("POST", "/v1/sales/phones/resume", "{}"), 200, "")
	w.want(w.claim("phones", `{"user":"u4"}`), 201, "")
	w.want(w.admin("POST", "/v1/sales/phones/close", ""), 200, "")
	w.want(w.claim("phones", `{"user":"u5"}`), 409, "closed")
	if got := w.send(ask{method: "GET", path: "/v1/sales/phones"}); got.text("state") != "closed" {
		t.Fatal(got.raw)
	}
}
