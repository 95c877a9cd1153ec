package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rushgate/server"
)

// TestClaimsThatMakeNoSense sends bad bodies to the hot path, by both doors.
func TestClaimsThatMakeNoSense(t *testing.T) {
	w := start(t)
	w.sale("s", 100, `,"per_user":0`)
	cases := map[string][2]string{ // what is wrong → body, field
		"an unknown field":    {`{"user":"u","colour":"red"}`, "colour"},
		"a field twice":       {`{"user":"u","user":"v"}`, "user"},
		"another letter case": {`{"User":"u"}`, "User"},
		"a user as number":    {`{"user":1}`, "user"},
		"a user as object":    {`{"user":{}}`, "user"},
		"a quantity as text":  {`{"user":"u","quantity":"1"}`, "quantity"},
		"a negative quantity": {`{"user":"u","quantity":-1}`, "quantity"},
		"half a unit":         {`{"user":"u","quantity":0.5}`, "quantity"},
		"an exponent":         {`{"user":"u","quantity":1e2}`, "quantity"},
		"a leading zero":      {`{"user":"u","quantity":01}`, ""},
		"too many":            {`{"user":"u","quantity":1000001}`, "quantity"},
		"an overflow":         {`{"user":"u","quantity":9223372036854775808}`, "quantity"},
		"a huge overflow":     {`{"user":"u","quantity":` + strings.Repeat("9", 4000) + `}`, "quantity"},
		"a boolean":           {`{"user":"u","quantity":true}`, "quantity"},
		"NUL in the user":     {`{"user":"a\u0000b"}`, "user"},
		"a raw control":       {"{\"user\":\"a\x01b\"}", "user"},
		"DEL":                 {"{\"user\":\"a\x7fb\"}", "user"},
		"an invisible letter": {`{"user":"a\u200bb"}`, "user"},
		"half a surrogate":    {`{"user":"\ud800"}`, "user"},
		"broken UTF-8":        {"{\"user\":\"\xc3\x28\"}", "user"},
		"10 KB of user":       {`{"user":"` + strings.Repeat("u", 10<<10) + `"}`, "user"},
		"10 KB of item":       {`{"user":"u","item":"` + strings.Repeat("i", 10<<10) + `"}`, "item"},
		"an empty user":       {`{"user":""}`, "user"},
		"an item's path":      {`{"user":"u","item":"../a"}`, "item"},
		"something after it":  {`{"user":"u"} x`, ""},
		"two objects":         {`{"user":"u"}{"user":"v"}`, ""},
		"a comma too many":    {`{"user":"u",}`, ""},
		"no closing":          {`{"user":"u"`, ""},
		"an array":            {`[{"user":"u"}]`, ""},
		"text":                {`"u"`, ""},
		"a byte order mark":   {"\ufeff" + `{"user":"u"}`, ""},
		"very deep":           {`{"user":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "user" + strings.Repeat("[0]", 25) + "[…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.t = t
			got := w.want(w.claim("s", c[0]), 400, "invalid")
			if got.text("field") != c[1] {
				t.Errorf("field %q, want %q: %s", got.text("field"), c[1], got.raw)
			}
			batch := w.send(ask{"POST", "/v1/sales/s/claims:batch", `{"claims":[` + c[0] + `]}`, []string{"Authorization", "Bearer " + adminToken}})
			if batch.status == 200 && !strings.Contains(batch.raw, `"code":"invalid"`) {
				t.Errorf("as a batch: %s", batch.raw)
			}
		})
		w.t = t
	}
	if got := w.admin("GET", "/v1/sales/s/claims", ""); got.raw != `{"claims":[],"next_cursor":null}` {
		t.Error("something was granted: " + got.raw)
	}
}

func TestBodiesThatNeverEnd(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	address := w.http.Listener.Addr().String()
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"cut off":             {"Content-Length: 100\r\n\r\n{\"user\":\"u\"}", 400},
		"chunked and cut off": {"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"use", 400},
		"chunked and broken":  {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"said to be huge":     {"Content-Length: 99999999999\r\n\r\n{", 413},
		"chunked and huge":    {"Transfer-Encoding: chunked\r\n\r\n20000\r\n" + strings.Repeat(" ", 0x20000) + "\r\n0\r\n\r\n", 413},
		"chunked and good":    {"Transfer-Encoding: chunked\r\n\r\nc\r\n{\"user\":\"u\"}\r\n0\r\n\r\n", 201},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { // a server that has heard enough may close
				_, _ = io.WriteString(conn, "POST /v1/sales/s/claims HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+c.request)
				if c.status != http.StatusCreated { // who hangs up before the answer has left, for net/http
					_ = conn.(*net.TCPConn).CloseWrite()
				}
			}()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != c.status {
				body, _ := io.ReadAll(resp.Body)
				t.Fatalf("%s: %s", resp.Status, body)
			}
		})
	}
}

// FuzzRequests sends whole requests: whatever comes in, the answer is neither
// a panic nor a 5xx, and every problem is a document of the contract.
func FuzzRequests(f *testing.F) {
	for _, method := range []string{"GET", "POST", "PATCH", "PUT"} {
		for _, path := range []string{"/v1/sales", "/v1/sales/s", "/v1/sales/s/claims", "/v1/sales/s/claims:batch", "/v1/sales/s/restock", "/v1/claims/1/confirm", "/v1/sales/s/claims?cursor=zz&limit=5", "/v1/sales/%2e%2e/claims", "//", "/docs"} {
			f.Add(method, path, "application/json", `{"user":"u","quantity":1}`, "key", true)
		}
	}
	f.Add("POST", "/v1/sales", "application/json", `{"id":"x","hold":"1h","opens_at":null,"items":[{"id":"a","stock":1}]}`, "", true)
	f.Add("POST", "/v1/sales/s/claims:batch", "application/json", `{"claims":[{"user":"u","idempotency_key":"k"}]}`, "", true)
	f.Add("PATCH", "/v1/sales/s", "application/json; charset=UTF-8", `{"closes_at":"2027-01-01T00:00:00Z","per_user":0}`, "", true)
	w := start(f)
	w.sale("s", 1000, `,"per_user":0`)
	f.Fuzz(func(t *testing.T, method, path, kind, body, key string, admin bool) {
		if strings.Contains(path, "/events") {
			return // does not end by itself
		}
		r, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
		if err != nil || r.URL.Path == "" {
			return
		}
		r.Header["Content-Type"] = []string{kind}
		if key != "" {
			r.Header["Idempotency-Key"] = []string{key}
		}
		if admin {
			r.Header.Set("Authorization", "Bearer "+adminToken)
		}
		rec := httptest.NewRecorder()
		w.server.ServeHTTP(rec, r)
		got := answer{status: rec.Code, header: rec.Header(), raw: rec.Body.String()}
		_ = json.Unmarshal(rec.Body.Bytes(), &got.body)
		if got.status >= 500 || got.status >= 300 && got.status < 400 && got.status != 304 || strings.Contains(w.log.String(), "panic") {
			t.Fatalf("%s %q %q: %d %s", method, path, body, got.status, got.raw)
		}
		if err := observe(r, got); err != nil && r.URL.RawPath == "" && method == strings.ToUpper(method) {
			t.Fatal(err)
		}
	})
}

// FuzzPlainOrders holds the quick reader of orders against the strict one.
func FuzzPlainOrders(f *testing.F) {
	for _, s := range []string{`{"user":"u","item":"a","quantity":1}`, ` { "quantity" : 12 , "user" : "x y" } `, `{}`, `{"user":"a\"b"}`, `{"quantity":01}`, `{"quantity":1000001}`, `{"user":"a","user":"b"}`, `{"user":"é"}`, `{"user":"u"}x`, `{"user":"u",}`, `{"x":"y"}`, `{"user":"u","idempotency_key":"k"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		user, item, quantity, ok := server.ReadPlain(body)
		if !ok {
			return
		}
		u, i, q, err := server.ReadStrictly(body)
		if err != nil || u != user || i != item || q != quantity {
			t.Fatalf("%q: %q %q %d, strictly %q %q %d %v", body, user, item, quantity, u, i, q, err)
		}
	})
}

// FuzzPlainBatches does the same for batches.
func FuzzPlainBatches(f *testing.F) {
	for _, s := range []string{`{"claims":[{"user":"u"}]}`, `{"claims":[{"user":"u"} , {"user":"v","quantity":2}]} `, `{"claims":[]}`, `{"claims":[{"user":"u","idempotency_key":"k"}]}`, `{"claims":[{"idempotency_key":""}]}`, `{"claims":[{"user":"u"}],"claims":[]}`, `{"claims":[{"user":"u"}]}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		quickly, ok := server.ReadPlainBatch(body)
		if !ok {
			return
		}
		if strictly, err := server.ReadStrictBatch(body); err != nil || strictly != quickly {
			t.Fatalf("%q: %s, strictly %s %v", body, quickly, strictly, err)
		}
	})
}

// FuzzText holds the writer of strings against encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", `"\`, "<&>", "\x00\x1f\x7f", "é张\u2028\u2029", "\xff\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := server.Text(s)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && got != string(bytes.ToValidUTF8([]byte(s), nil)) && got != fmt.Sprint(string([]rune(s))) {
			t.Fatalf("%q: %s: %q %v", s, text, got, err)
		}
		if strings.ContainsAny(text, "<>&\u2028\u2029\x7f") {
			t.Fatalf("%q: %s", s, text)
		}
	})
}

func TestSpansAreWrittenShort(t *testing.T) {
	for in, out := range map[string]string{"15m": "15m", "900s": "15m", "0": "0", "0s": "0", "90s": "1m30s", "24h": "24h", "1h0m1s": "1h0m1s", "250ms": "250ms", "10s": "10s", "10h10m": "10h10m", "100m": "1h40m"} {
		if got, err := server.Span(in); err != nil || got != out {
			t.Errorf("%s: %s %v", in, got, err)
		}
		back, err := server.Span(out)
		d1, _ := time.ParseDuration(in)
		d2, _ := time.ParseDuration(back)
		if err != nil || d1 != d2 {
			t.Errorf("%s came back as %s", in, back)
		}
	}
}
