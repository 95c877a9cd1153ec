package server_test

import (
	"strings"
	"testing"
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
