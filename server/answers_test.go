package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const longID = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" // 65

// TestAnswers asks for every refusal of the contract once.
func TestAnswers(t *testing.T) {
	w := start(t)
	w.sale("one", 10, `,"per_user":2`)
	w.sale("late", 1, `,"opens_at":"2027-01-01T00:00:00Z"`)
	w.sale("over", 1, `,"closes_at":"2026-11-10T00:00:00Z"`)
	w.sale("ended", 1, "")
	w.want(w.admin("POST", "/v1/sales/ended/close", ""), 200, "")
	w.want(w.admin("POST", "/v1/sales", `{"id":"two","items":[{"id":"a","stock":1},{"id":"b","stock":1}]}`), 201, "")
	admin := []string{"Authorization", "Bearer " + adminToken}
	cases := []struct {
		name   string
		ask    ask
		status int
		code   string
		field  string
	}{
		{"unknown path", ask{"GET", "/v1/nothing", "", nil}, 404, "not_found", ""},
		{"unclean path", ask{"POST", "/v1//sales/one/claims", "{}", nil}, 404, "not_found", ""},
		{"dots", ask{"GET", "/v1/../v1/sales", "", nil}, 404, "not_found", ""},
		{"trailing slash", ask{"GET", "/v1/sales/", "", nil}, 404, "not_found", ""},
		{"wrong method", ask{"DELETE", "/v1/sales/one", "", nil}, 405, "method_not_allowed", ""},
		{"wrong method on claims", ask{"PUT", "/v1/sales/one/claims", "{}", nil}, 405, "method_not_allowed", ""},
		{"no token", ask{"POST", "/v1/sales", "{}", nil}, 401, "unauthenticated", ""},
		{"wrong token", ask{"POST", "/v1/sales", "{}", []string{"Authorization", "Bearer no"}}, 401, "unauthenticated", ""},
		{"unknown sale", ask{"POST", "/v1/sales/none/claims", `{"user":"u"}`, nil}, 404, "not_found", ""},
		{"unknown sale shown", ask{"GET", "/v1/sales/none", "", nil}, 404, "not_found", ""},
		{"unknown sale in a batch", ask{"POST", "/v1/sales/none/claims:batch", `{"claims":[{"user":"u"}]}`, admin}, 404, "not_found", ""},
		{"unknown sale's events", ask{"GET", "/v1/sales/none/events", "", admin}, 404, "not_found", ""},
		{"unknown sale's stock", ask{"GET", "/v1/sales/none/stock", "", admin}, 404, "not_found", ""},
		{"unknown sale's audit", ask{"GET", "/v1/sales/none/audit", "", admin}, 404, "not_found", ""},
		{"unknown sale's claims", ask{"GET", "/v1/sales/none/claims", "", admin}, 404, "not_found", ""},
		{"unknown sale frozen", ask{"POST", "/v1/sales/none/freeze", "", admin}, 404, "not_found", ""},
		{"unknown claim", ask{"GET", "/v1/claims/1", "", nil}, 404, "not_found", ""},
		{"no claim id", ask{"GET", "/v1/claims/abc", "", nil}, 404, "not_found", ""},
		{"unknown claim confirmed", ask{"POST", "/v1/claims/12/confirm", "", nil}, 404, "not_found", ""},
		{"not open", ask{"POST", "/v1/sales/late/claims", `{"user":"u"}`, nil}, 409, "not_open", ""},
		{"over", ask{"POST", "/v1/sales/over/claims", `{"user":"u"}`, nil}, 409, "closed", ""},
		{"more than the limit", ask{"POST", "/v1/sales/one/claims", `{"user":"u","quantity":3}`, nil}, 409, "limit_reached", ""},
		{"no user", ask{"POST", "/v1/sales/one/claims", `{}`, nil}, 400, "invalid", "user"},
		{"which item", ask{"POST", "/v1/sales/two/claims", `{"user":"u"}`, nil}, 400, "invalid", "item"},
		{"unknown item", ask{"POST", "/v1/sales/one/claims", `{"user":"u","item":"z"}`, nil}, 400, "invalid", "item"},
		{"no units", ask{"POST", "/v1/sales/one/claims", `{"user":"u","quantity":0}`, nil}, 400, "invalid", "quantity"},
		{"no body", ask{"POST", "/v1/sales/one/claims", "", []string{"Content-Type", "application/json"}}, 400, "invalid", ""},
		{"a form", ask{"POST", "/v1/sales/one/claims", "user=u", []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, "unsupported_media_type", ""},
		{"another charset", ask{"POST", "/v1/sales/one/claims", `{"user":"u"}`, []string{"Content-Type", "application/json; charset=utf-16"}}, 415, "unsupported_media_type", ""},
		{"a browser that does not say what it sends", ask{"POST", "/v1/sales/one/claims", `{"user":"u"}`, []string{"Content-Type", "", "Origin", "https://evil.example"}}, 415, "unsupported_media_type", ""},
		{"a page of another site", ask{"POST", "/v1/claims/12/release", "", []string{"Sec-Fetch-Site", "cross-site"}}, 403, "forbidden", ""},
		{"too large", ask{"POST", "/v1/sales/one/claims", `{"user":"` + strings.Repeat("u", 64<<10) + `"}`, nil}, 413, "too_large", ""},
		{"a bad key", ask{"POST", "/v1/sales/one/claims", `{"user":"u"}`, []string{"Idempotency-Key", "a b"}}, 400, "invalid", "idempotency_key"},
		{"a long key", ask{"POST", "/v1/sales/one/claims", `{"user":"u"}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}}, 400, "invalid", "idempotency_key"},
		{"an empty batch", ask{"POST", "/v1/sales/one/claims:batch", `{"claims":[]}`, admin}, 400, "invalid", "claims"},
		{"too many claims", ask{"POST", "/v1/sales/one/claims:batch", `{"claims":[{"user":"u"}` + strings.Repeat(`,{"user":"u"}`, 1000) + `]}`, admin}, 400, "invalid", "claims"},
		{"a bad limit", ask{"GET", "/v1/sales/one/claims?limit=1001", "", admin}, 400, "invalid", "limit"},
		{"a bad cursor", ask{"GET", "/v1/sales/one/claims?cursor=!", "", admin}, 400, "invalid", "cursor"},
		{"a bad state", ask{"GET", "/v1/sales/one/claims?state=lost", "", admin}, 400, "invalid", "state"},
		{"a bad event number", ask{"GET", "/v1/sales/one/events?after=-1", "", admin}, 400, "invalid", "after"},
		{"exists", ask{"POST", "/v1/sales", `{"id":"one","items":[{"id":"a","stock":1}]}`, admin}, 409, "already_exists", "id"},
		{"restock by nothing", ask{"POST", "/v1/sales/one/restock", `{"item":"a","add":0}`, admin}, 400, "invalid", "add"},
		{"restock without a number", ask{"POST", "/v1/sales/one/restock", `{"item":"a"}`, admin}, 400, "invalid", "add"},
		{"restock of another item", ask{"POST", "/v1/sales/one/restock", `{"item":"z","add":1}`, admin}, 400, "invalid", "item"},
		{"take back too much", ask{"POST", "/v1/sales/one/restock", `{"item":"a","add":-11}`, admin}, 409, "not_enough_free", ""},
		{"restock of what is closed", ask{"POST", "/v1/sales/ended/restock", `{"item":"a","add":1}`, admin}, 409, "wrong_state", ""},
		{"freeze what is closed", ask{"POST", "/v1/sales/ended/freeze", "", admin}, 409, "wrong_state", ""},
		{"a body where none belongs", ask{"POST", "/v1/sales/one/freeze", `{"why":"so"}`, admin}, 400, "invalid", "why"},
		{"change what is not changed so", ask{"PATCH", "/v1/sales/one", `{"items":[]}`, admin}, 400, "invalid", "items"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			got := w.send(c.ask)
			w.want(got, c.status, c.code)
			if got.text("field") != c.field {
				t.Errorf("field %q, want %q: %s", got.text("field"), c.field, got.raw)
			}
			if c.status == 405 && got.header.Get("Allow") == "" || c.status == 401 && got.header.Get("WWW-Authenticate") == "" {
				t.Error(got.header)
			}
		})
		w.t = t
	}
	if got := w.claim("late", `{"user":"u"}`); got.text("opens_at") != "2027-01-01T00:00:00.000Z" {
		t.Error(got.raw)
	}
	if got := w.send(ask{method: "GET", path: "/v1/sales/late"}); got.text("state") != "scheduled" {
		t.Error(got.raw)
	}
}

func TestSalesThatMakeNoSense(t *testing.T) {
	w := start(t)
	cases := map[string][2]string{ // what is wrong → body, field
		"a window that ends before it begins": {`{"id":"x","opens_at":"2026-01-02T00:00:00Z","closes_at":"2026-01-01T00:00:00Z","items":[{"id":"a","stock":1}]}`, "closes_at"},
		"no items":                            {`{"id":"x","items":[]}`, "items"},
		"items left out":                      {`{"id":"x"}`, "items"},
		"an item twice":                       {`{"id":"x","items":[{"id":"a","stock":1},{"id":"a","stock":1}]}`, "items[1].id"},
		"negative stock":                      {`{"id":"x","items":[{"id":"a","stock":-1}]}`, "items[0].stock"},
		"overflowing stock":                   {`{"id":"x","items":[{"id":"a","stock":99999999999999999999}]}`, "items[0].stock"},
		"too much stock":                      {`{"id":"x","items":[{"id":"a","stock":9223372036854775807}]}`, "items[0].stock"},
		"half a unit":                         {`{"id":"x","items":[{"id":"a","stock":1.5}]}`, "items[0].stock"},
		"stock as text":                       {`{"id":"x","items":[{"id":"a","stock":"1"}]}`, "items[0].stock"},
		"capitals in the id":                  {`{"id":"X","items":[{"id":"a","stock":1}]}`, "id"},
		"a slash in the id":                   {`{"id":"a/b","items":[{"id":"a","stock":1}]}`, "id"},
		"a long id":                           {`{"id":"` + longID + `","items":[{"id":"a","stock":1}]}`, "id"},
		"10 KB of id":                         {`{"id":"` + strings.Repeat("a", 10<<10) + `","items":[{"id":"a","stock":1}]}`, "id"},
		"NUL in an item's id":                 {`{"id":"x","items":[{"id":"a\u0000","stock":1}]}`, "items[0].id"},
		"a newline in the name":               {`{"id":"x","name":"a\nb","items":[{"id":"a","stock":1}]}`, "name"},
		"a negative hold":                     {`{"id":"x","hold":"-1s","items":[{"id":"a","stock":1}]}`, "hold"},
		"a hold of ages":                      {`{"id":"x","hold":"99999999h","items":[{"id":"a","stock":1}]}`, "hold"},
		"a hold that is no time":              {`{"id":"x","hold":"soon","items":[{"id":"a","stock":1}]}`, "hold"},
		"a hold as number":                    {`{"id":"x","hold":15,"items":[{"id":"a","stock":1}]}`, "hold"},
		"a negative limit":                    {`{"id":"x","per_user":-1,"items":[{"id":"a","stock":1}]}`, "per_user"},
		"another acknowledgement":             {`{"id":"x","ack":"accepted","items":[{"id":"a","stock":1}]}`, "ack"},
		"no acknowledgement":                  {`{"id":"x","ack":"never","items":[{"id":"a","stock":1}]}`, "ack"},
		"no shard":                            {`{"id":"x","shards":0,"items":[{"id":"a","stock":1}]}`, "shards"},
		"too many shards":                     {`{"id":"x","shards":65,"items":[{"id":"a","stock":1}]}`, "shards"},
		"shards of a memory gate":             {`{"id":"x","shards":2,"items":[{"id":"a","stock":1}]}`, "shards"},
		"shards that are no number":           {`{"id":"x","shards":"2","items":[{"id":"a","stock":1}]}`, "shards"},
		"a time that is none":                 {`{"id":"x","opens_at":"tomorrow","items":[{"id":"a","stock":1}]}`, "opens_at"},
		"the year 10000":                      {`{"id":"x","opens_at":"10000-01-01T00:00:00Z","items":[{"id":"a","stock":1}]}`, "opens_at"},
		"an unknown field":                    {`{"id":"x","colour":1,"items":[{"id":"a","stock":1}]}`, "colour"},
		"an unknown field of items":           {`{"id":"x","items":[{"id":"a","stock":1,"free":1}]}`, "items[0].free"},
		"a field twice":                       {`{"id":"x","id":"y","items":[{"id":"a","stock":1}]}`, "id"},
		"another letter case":                 {`{"ID":"x","items":[{"id":"a","stock":1}]}`, "ID"},
		"an array":                            {`[]`, ""},
		"null":                                {`null`, "items"},
		"something after it":                  {`{"id":"x","items":[{"id":"a","stock":1}]}{}`, ""},
		"cut off":                             {`{"id":"x","items":[{"id":"a"`, "items[0]"},
		"broken UTF-8":                        {"{\"id\":\"x\",\"name\":\"\xff\",\"items\":[]}", "name"},
		"only space":                          {"  \n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := w.admin("POST", "/v1/sales", c[0])
			if got.status != 400 || got.text("code") != "invalid" || got.text("field") != c[1] {
				t.Errorf("%d field %q, want 400 field %q: %s", got.status, got.text("field"), c[1], got.raw)
			}
		})
	}
	if got := w.send(ask{method: "GET", path: "/v1/sales"}); got.raw != `{"sales":[],"next_cursor":null}`+"\n" {
		t.Error("one of them was made: " + got.raw)
	}
}

func TestPatchChangesWhatItNames(t *testing.T) {
	w := start(t)
	w.sale("s", 1, `,"opens_at":"2026-11-12T00:00:00Z","hold":"0"`)
	got := w.want(w.admin("PATCH", "/v1/sales/s", `{"opens_at":null,"closes_at":"2026-12-01T00:00:00+02:00","name":"New","per_user":0,"hold":"1h30m"}`), 200, "")
	if got.body["opens_at"] != nil || got.text("closes_at") != "2026-11-30T22:00:00.000Z" || got.text("name") != "New" ||
		got.body["per_user"] != 0.0 || got.text("hold") != "1h30m" || got.text("state") != "open" {
		t.Fatal(got.raw)
	}
	got = w.want(w.admin("PATCH", "/v1/sales/s", `{"closes_at":null}`), 200, "")
	if got.body["closes_at"] != nil || got.text("name") != "New" {
		t.Fatal(got.raw)
	}
	w.want(w.claim("s", `{"user":"u"}`), 201, "")
	w.want(w.admin("PATCH", "/v1/sales/s", `{"per_user":1}`), 409, "wrong_state")
}

func TestAClaimThatIsConfirmedAtOnce(t *testing.T) {
	w := start(t)
	w.sale("s", 1, `,"hold":"0"`)
	got := w.want(w.claim("s", `{"user":"Zoë \"<&>\" 张"}`), 201, "")
	if _, there := got.body["expires_at"]; there || got.text("state") != "confirmed" || got.text("user") != `Zoë "<&>" 张` {
		t.Fatal(got.raw)
	}
}

func TestABatchAnswersEachClaimInItsPlace(t *testing.T) {
	w := start(t)
	w.sale("s", 2, "")
	got := w.want(w.admin("POST", "/v1/sales/s/claims:batch",
		`{"claims":[{"user":"a","idempotency_key":"k"},{"user":"a"},{"user":""},{"user":"b","item":"a","quantity":1},{"user":"c"},{"user":"a","idempotency_key":"k"},{"user":"d","idempotency_key":"k"}]}`), 200, "")
	var outcome []string
	for _, r := range got.body["results"].([]any) {
		m := r.(map[string]any)
		switch {
		case m["code"] != nil:
			outcome = append(outcome, m["code"].(string))
		case m["replayed"] == true:
			outcome = append(outcome, "replayed")
		default:
			outcome = append(outcome, m["state"].(string)+" "+m["user"].(string))
		}
	}
	if text := strings.Join(outcome, ", "); text != "held a, limit_reached, invalid, held b, sold_out, replayed, key_reused" {
		t.Fatal(text)
	}
}

func TestAThousandOfTheLargestClaimsFitIntoABatch(t *testing.T) {
	w := start(t)
	item := strings.Repeat("i", 64)
	w.want(w.admin("POST", "/v1/sales", `{"id":"s","items":[{"id":"`+item+`","stock":1000000000}],"per_user":0}`), 201, "")
	one := `{"user":"` + strings.Repeat(`\u0041`, 128) + `","item":"` + item + `","quantity":1000000,"idempotency_key":"` + strings.Repeat("k", 252)
	body := `{"claims":[`
	for i := range 1000 {
		body += strings.Repeat(",", min(i, 1)) + one + string(rune('a'+i/100)) + string(rune('a'+i/10%10)) + string(rune('a'+i%10)) + `"}`
	}
	got := w.want(w.admin("POST", "/v1/sales/s/claims:batch", body+"]}"), 200, "")
	if n := strings.Count(got.raw, `"state":"held"`); n != 1000 {
		t.Fatalf("%d were granted", n)
	}
}

func TestWhoHasSeenASaleIsNotSentItAgain(t *testing.T) {
	w := start(t)
	w.sale("s", 5, "")
	for _, path := range []string{"/v1/sales/s", "/v1/sales"} {
		first := w.want(w.send(ask{method: "GET", path: path}), 200, "")
		tag := first.header.Get("ETag")
		if tag == "" || !strings.Contains(first.header.Get("Cache-Control"), "public") {
			t.Fatal(first.header)
		}
		for _, have := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			if got := w.send(ask{"GET", path, "", []string{"If-None-Match", have}}); got.status != 304 || got.raw != "" || got.header.Get("ETag") != tag {
				t.Errorf("%s: %d %s", have, got.status, got.raw)
			}
		}
		w.want(w.claim("s", `{"user":"`+strings.ReplaceAll(path, "/", "-")+`"}`), 201, "")
		if got := w.send(ask{"GET", path, "", []string{"If-None-Match", tag}}); got.status != 200 {
			t.Errorf("after a claim: %d", got.status)
		}
		if got := w.send(ask{"HEAD", path, "", nil}); got.status != 200 || got.raw != "" {
			t.Errorf("HEAD: %d %q", got.status, got.raw)
		}
	}
}

func TestPagesOfClaimsHaveEachClaimOnce(t *testing.T) {
	w := start(t)
	w.sale("s", 25, "")
	for i := range 25 {
		w.want(w.claim("s", `{"user":"u`+itoa(i)+`"}`), 201, "")
	}
	released := w.admin("GET", "/v1/sales/s/claims?user=u7", "").body["claims"].([]any)[0].(map[string]any)["id"].(string)
	w.want(w.send(ask{method: "POST", path: "/v1/claims/" + released + "/release"}), 200, "")
	seen, pages, cursor := map[string]bool{}, 0, ""
	for {
		got := w.want(w.admin("GET", "/v1/sales/s/claims?state=held&item=a&limit=5&cursor="+cursor, ""), 200, "")
		for _, c := range got.body["claims"].([]any) {
			id := c.(map[string]any)["id"].(string)
			if seen[id] {
				t.Fatal("twice: " + id)
			}
			seen[id] = true
		}
		pages++
		if cursor = got.text("next_cursor"); cursor == "" {
			break
		}
	}
	if len(seen) != 24 || seen[released] || pages != 5 {
		t.Fatalf("%d claims on %d pages", len(seen), pages)
	}
}

func TestPagesOfSales(t *testing.T) {
	w := start(t)
	for _, id := range []string{"b", "a", "c"} {
		w.sale(id, 1, "")
	}
	var ids []string
	for cursor := ""; ; {
		got := w.send(ask{method: "GET", path: "/v1/sales?limit=2&cursor=" + cursor})
		for _, s := range got.body["sales"].([]any) {
			ids = append(ids, s.(map[string]any)["id"].(string))
		}
		if cursor = got.text("next_cursor"); cursor == "" {
			break
		}
	}
	if strings.Join(ids, "") != "abc" {
		t.Fatal(ids)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	w := start(t)
	w.want(w.send(ask{method: "GET", path: "/healthz"}), 200, "")
	w.want(w.send(ask{method: "GET", path: "/readyz"}), 200, "")
	w.server.SetReady("a standby")
	if got := w.send(ask{method: "GET", path: "/readyz"}); got.status != 503 || got.text("reason") != "a standby" {
		t.Fatal(got.raw)
	}
	w.server.SetReady("")
	w.want(w.send(ask{method: "GET", path: "/readyz"}), 200, "")
	w.server.Close()
	if got := w.send(ask{method: "GET", path: "/readyz"}); got.status != 503 {
		t.Fatal(got.raw)
	}
	w.want(w.send(ask{method: "GET", path: "/healthz"}), 200, "")
}

// A server that drains serves as ever, through both doors, but no connection
// twice.
func TestADrainingServerAnswersForTheLastTime(t *testing.T) {
	w := start(t)
	w.sale("s", 2, "")
	w.want(w.claim("s", `{"user":"a"}`), 201, "")
	w.server.Drain("the server is stopping")
	for name, request := range map[string]string{
		"lane":      "POST /v1/sales/s/claims HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"user\":\"b\"}",
		"net/http":  "GET /v1/sales/s HTTP/1.1\r\nHost: x\r\n\r\n",
		"not ready": "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		want := map[string]int{"lane": 201, "net/http": 200, "not ready": 503}[name]
		if got := w.raw(t, request); got.status != want || !got.last {
			t.Errorf("%s: %d, closes %v: %s", name, got.status, got.last, got.raw)
		}
	}
}

func TestThePagesLoadNothingFromElsewhere(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/", "/docs"} {
		got := w.send(ask{method: "GET", path: path})
		if got.status != 200 || !strings.Contains(got.raw, "/openapi.json") || strings.Contains(got.raw, "<script") || strings.Contains(got.raw, "http://") || strings.Contains(got.raw, "https://") {
			t.Errorf("%s: %d %s", path, got.status, got.raw)
		}
		if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Error(csp)
		}
	}
	docs := w.send(ask{method: "GET", path: "/docs"}).raw
	for _, anchor := range []string{`id="claim"`, `id="sold_out"`, `id="invalid"`, `id="method_not_allowed"`, "/v1/sales/{sale}/claims:batch"} {
		if !strings.Contains(docs, anchor) {
			t.Errorf("the page has no %s", anchor)
		}
	}
}

func TestMetricsTellWhatHappened(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	w.want(w.claim("s", `{"user":"a"}`), 201, "")
	w.want(w.claim("s", `{"user":"b"}`), 409, "sold_out")
	w.want(w.admin("GET", "/v1/sales/s/audit", ""), 200, "")
	w.clock.Add(time.Hour)
	if _, err := w.shop.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := w.send(ask{method: "GET", path: "/metrics"})
	for _, line := range []string{
		`rushgate_claims_total{outcome="granted"} 1`, `rushgate_claims_total{outcome="sold_out"} 1`,
		`rushgate_stock_units{item="a",sale="s",state="free"} 1`, `rushgate_audit_ok{sale="s"} 1`, `rushgate_audits_total{result="ok"} 1`,
		`rushgate_http_requests_total{route="POST /v1/sales/{sale}/claims",status="409"} 1`,
		`rushgate_queue_claims 0`, `rushgate_claims_expired_total 1`, `rushgate_connections_open 1`, "go_goroutines", "process_open_fds",
		"rushgate_record_seconds_count", "rushgate_gate_seconds_count", "rushgate_batch_asks_count", "rushgate_http_request_seconds_bucket",
	} {
		if !strings.Contains(got.raw, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(got.raw, adminToken) || strings.Contains(w.log.String(), adminToken) {
		t.Error("the token is told")
	}
}

func TestAFailureIsLoggedUnderTheNumberThatIsAnswered(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	w.must(w.shop.Close(t.Context()))
	got := w.want(w.claim("s", `{"user":"a"}`, "X-Request-Id", "mine-1"), 503, "unavailable")
	if got.text("request_id") != "mine-1" || got.header.Get("X-Request-Id") != "mine-1" || got.header.Get("Retry-After") != "1" {
		t.Fatal(got.raw, got.header)
	}
	if !strings.Contains(w.log.String(), "mine-1") {
		t.Fatal(w.log.String())
	}
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	w := start(t)
	r, _ := http.NewRequest("GET", w.http.URL+"/healthz", nil)
	r.Header.Set("X-Large", strings.Repeat("x", 40<<10))
	resp, err := w.http.Client().Do(r)
	w.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Fatal(resp.Status)
	}
}
