package server_test

import (
	"strings"
	"testing"

	"rushgate/admission"
)

// TestABadClaimOfABatchSpoilsNoOther: a value that cannot be is a problem in
// its place; a document that is none refuses the whole.
func TestABadClaimOfABatchSpoilsNoOther(t *testing.T) {
	w := start(t)
	w.sale("s", 9, "")
	batch := func(sale, claims string) answer {
		return w.admin("POST", "/v1/sales/"+sale+"/claims:batch", `{"claims":[`+claims+`]}`)
	}
	bad := []string{`{"user":"b","quantity":0}`, `{"user":"b","quantity":-1}`, `{"user":"b","quantity":1000001}`, `{"user":"b","quantity":1.5}`,
		`{"user":"b","quantity":9223372036854775808}`, `{"user":"b","idempotency_key":""}`}
	got := w.want(batch("s", `{"user":"a"},`+strings.Join(bad, ",")+`,{"user":"c"}`), 200, "")
	results := got.body["results"].([]any)
	if len(results) != len(bad)+2 {
		t.Fatal(got.raw)
	}
	for i, r := range results {
		m := r.(map[string]any)
		field := "quantity"
		if i == len(bad) {
			field = "idempotency_key"
		}
		if good := i == 0 || i == len(bad)+1; good && m["state"] != "held" || !good && (m["code"] != "invalid" || m["field"] != field) {
			t.Errorf("%d: %v", i, m)
		}
	}
	w.want(batch("s", bad[0]), 200, "")
	w.want(batch("none", bad[0]), 404, "not_found")
	w.want(batch("none", bad[0]+`,{"user":"a"}`), 404, "not_found")
	for _, broken := range []string{`{"user":1}`, `{"user":"a","quantity":"1"}`, `{"user":"a","colour":1}`, `{"user":"a"`} {
		w.want(batch("s", broken+`,{"user":"d"}`), 400, "invalid")
	}
}

// TestARefusalSaysWhatIsExpected: of sales, by POST and PATCH, and of claims.
func TestARefusalSaysWhatIsExpected(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	const when, whole, years = "must be a time like 2026-11-11T00:00:00Z", "must be a whole number", "must be in the years 1970 to 9999, in UTC"
	for _, c := range []struct{ field, value, detail string }{
		{"opens_at", `"2026-11-11T00:00:00"`, when},
		{"opens_at", `"2026-11-11"`, when},
		{"closes_at", `1794355200`, when},
		{"closes_at", `{}`, when},
		{"closes_at", `"0001-01-01T00:00:00Z"`, years},
		{"opens_at", `"0001-01-01T00:00:00Z"`, years},
		{"opens_at", `"1970-01-01T00:00:00+01:00"`, years},
		{"closes_at", `"9999-12-31T23:59:59-01:00"`, years},
		{"hold", `900`, `must be a string like "15m", "90s" or "0"`},
		{"per_user", `1.5`, whole},
		{"per_user", `"1"`, whole},
		{"name", `1`, "must be a string"},
	} {
		for method, path := range map[string]string{"POST": "/v1/sales", "PATCH": "/v1/sales/s"} {
			body := `{"` + c.field + `":` + c.value + `}`
			if method == "POST" {
				body = strings.Replace(body, "{", `{"items":[{"id":"a","stock":1}],`, 1)
			}
			got := w.want(w.admin(method, path, body), 400, "invalid")
			if got.text("field") != c.field || got.text("detail") != c.detail {
				t.Errorf("%s %s: %s", method, body, got.raw)
			}
		}
	}
	for stock, detail := range map[string]string{`1e2`: whole, `"1"`: whole, `null`: "must be given: the units that there are; 0 to add them later"} {
		got := w.want(w.admin("POST", "/v1/sales", `{"items":[{"id":"a","stock":`+stock+`}]}`), 400, "invalid")
		if got.text("field") != "items[0].stock" || got.text("detail") != detail {
			t.Error(got.raw)
		}
	}
	w.want(w.admin("POST", "/v1/sales", `{"items":[{"id":"a"}]}`), 400, "invalid")
	w.want(w.admin("POST", "/v1/sales", `{"items":[{"id":"a","stock":0}]}`), 201, "")
	for _, quantity := range []string{"1.5", "1e2", `"1"`, "true"} {
		if got := w.want(w.claim("s", `{"user":"u","quantity":`+quantity+`}`), 400, "invalid"); got.text("detail") != whole {
			t.Error(got.raw)
		}
	}
	if got := w.want(w.claim("s", `{"user":1}`), 400, "invalid"); got.text("detail") != "must be a string" {
		t.Error(got.raw)
	}
}

// TestNoParameterIsDroppedInSilence: who asked for a part is never given the whole.
func TestNoParameterIsDroppedInSilence(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	w.want(w.claim("s", `{"user":"u;%"}`), 201, "")
	for path, field := range map[string]string{
		"/v1/sales/s/claims?user=%zz":           "user",
		"/v1/sales/s/claims?%zz=1":              "%zz",
		"/v1/sales/s/claims?stat=held":          "stat",
		"/v1/sales/s/claims?limit=1;state=held": "limit",
		"/v1/sales/s/claims?state=held&state=":  "state",
		"/v1/sales/s/claims?State=held":         "State",
		"/v1/sales/s/events?afer=1":             "afer",
		"/v1/sales/s/events?after=%":            "after",
		"/v1/sales?page=2":                      "page",
		"/v1/sales?limit=1;cursor=s":            "limit",
	} {
		if got := w.want(w.admin("GET", path, ""), 400, "invalid"); got.text("field") != field {
			t.Errorf("%s: %s", path, got.raw)
		}
	}
	for _, path := range []string{"/v1/sales/s/claims?user=u%3B%25&state=held&limit=1&cursor=", "/v1/sales?", "/v1/sales?limit=1&", "/healthz?x=1"} {
		w.want(w.admin("GET", path, ""), 200, "")
	}
}

// TestABodyIsReadAsItIs: what is packed is refused as that, not as bad JSON.
func TestABodyIsReadAsItIs(t *testing.T) {
	w := start(t)
	w.sale("s", 9, "")
	for _, path := range []string{"/v1/sales/s/claims", "/v1/sales/s/claims:batch", "/v1/sales", "/v1/sales/s/freeze"} {
		for _, coding := range []string{"gzip", "br", "identity, gzip", "x"} {
			w.want(w.send(ask{"POST", path, `{"user":"u"}`, []string{"Authorization", "Bearer " + adminToken, "Content-Encoding", coding}}), 415, "unsupported_media_type")
		}
	}
	w.want(w.claim("s", `{"user":"u"}`, "Content-Encoding", "Identity"), 201, "")
}

// TestNobodyKeepsTheAnswerOfAClaim: on the express lane, on the way of
// net/http (which a header that the lane does not know makes sure of), and for
// a path with escapes.
func TestNobodyKeepsTheAnswerOfAClaim(t *testing.T) {
	w := start(t)
	w.sale("s", 9, "")
	for i, header := range [][]string{nil, {"Content-Encoding", "identity"}} {
		w.http.Client().CloseIdleConnections() // net/http keeps a connection that it has once
		user := `{"user":"u` + itoa(i) + `"}`
		for _, status := range []int{201, 409} {
			got := w.claim("s", user, header...)
			if got.status != status || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %v", got.status, got.header)
			}
		}
	}
	if got := w.claim("%73", `{"user":"odd"}`); got.status != 201 || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// TestASubThatIsNoUser: the buyer named none, so the token is at fault.
func TestASubThatIsNoUser(t *testing.T) {
	w := start(t, func(w *world) { w.identity = identities(t, w)["jwt"] })
	w.sale("s", 1, "")
	for _, sub := range []string{strings.Repeat("u", 129), "a\u200bb", " u"} {
		got := w.want(w.claim("s", `{}`, "Authorization", "Bearer "+token(t, sub)), 401, "unauthenticated")
		if !strings.Contains(got.text("detail"), "the token's sub") || got.header.Get("WWW-Authenticate") == "" || got.text("field") != "" {
			t.Error(got.raw)
		}
	}
	if got := w.want(w.claim("s", `{"item":"b"}`, "Authorization", "Bearer "+token(t, "u")), 400, "invalid"); got.text("field") != "item" {
		t.Error(got.raw)
	}
}

// TestNotReadyWithoutKeys: a server that could check no token is sent nobody.
func TestNotReadyWithoutKeys(t *testing.T) {
	keys := admission.NewKeySet(admission.FromFile(t.TempDir()+"/none"), nil)
	defer keys.Close()
	w := start(t, func(w *world) {
		var err error
		w.identity, err = admission.NewJWT(admission.JWTConfig{Keys: keys})
		w.must(err)
	})
	if got := w.send(ask{method: "GET", path: "/readyz"}); got.status != 503 || !strings.Contains(got.text("reason"), "key set") {
		t.Error(got.raw)
	}
}

// TestAnAuditThatCannotBeMadeHasFailed: an alarm that waits for failed audits
// must ring.
func TestAnAuditThatCannotBeMadeHasFailed(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	w.want(w.admin("GET", "/v1/sales/none/audit", ""), 404, "not_found")
	w.must(w.shop.Close(t.Context()))
	w.want(w.admin("GET", "/v1/sales/s/audit", ""), 503, "unavailable")
	if got := w.send(ask{method: "GET", path: "/metrics"}); !strings.Contains(got.raw, `rushgate_audits_total{result="failed"} 1`) {
		t.Error(got.raw)
	}
}
