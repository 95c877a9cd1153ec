package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"rushgate/admission"
)

// raw sends bytes on a connection of their own and reads one answer; last says
// that the connection has ended with it.
func (w *world) raw(t *testing.T, request string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{status: resp.StatusCode, header: resp.Header, raw: string(body), last: resp.Close}
	if got.last {
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("the connection was said to be closed, and is not: %v", err)
		}
	}
	return got
}

var requestNumber = regexp.MustCompile(`r\d+`)

// comparable is an answer without what differs each time.
func comparable(a answer) string {
	h := a.header.Clone()
	h.Del("Date")
	h.Del("Content-Length")
	return requestNumber.ReplaceAllString(fmt.Sprintf("%d %v %s", a.status, h, a.raw), "rN")
}

// TestBothDoorsAnswerTheSame sends claims through the express lane and to the
// handler of net/http: status, headers and body are the same.
func TestBothDoorsAnswerTheSame(t *testing.T) {
	w := start(t, func(w *world) { w.identity = believer{} })
	w.sale("s", 2, `,"per_user":1`)
	w.sale("gone", 0, "")
	w.sale("late", 1, `,"opens_at":"2027-01-01T00:00:00Z"`)
	w.sale("icy", 1, "")
	w.want(w.admin("POST", "/v1/sales/icy/freeze", ""), 200, "")
	w.want(w.claim("s", `{"user":"has"}`, "Idempotency-Key", "k"), 201, "")
	for name, c := range map[string]struct{ path, header, body string }{
		"sold out":       {"/v1/sales/gone/claims", "", `{"user":"u"}`},
		"the limit":      {"/v1/sales/s/claims", "", `{"user":"has"}`},
		"a replay":       {"/v1/sales/s/claims", "Idempotency-Key: k\r\n", `{"user":"has"}`},
		"a reused key":   {"/v1/sales/s/claims", "Idempotency-Key: k\r\n", `{"user":"other"}`},
		"a bad key":      {"/v1/sales/s/claims", "Idempotency-Key: a b\r\n", `{"user":"u"}`},
		"an empty key":   {"/v1/sales/s/claims", "Idempotency-Key: \r\n", `{"user":"u"}`},
		"two keys":       {"/v1/sales/s/claims", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", `{"user":"u"}`},
		"not open":       {"/v1/sales/late/claims", "", `{"user":"u"}`},
		"frozen":         {"/v1/sales/icy/claims", "", `{"user":"u"}`},
		"unknown":        {"/v1/sales/none/claims", "", `{"user":"u"}`},
		"bad JSON":       {"/v1/sales/s/claims", "", `{"user":}`},
		"no user":        {"/v1/sales/s/claims", "", `{}`},
		"bad UTF-8":      {"/v1/sales/s/claims", "", "{\"user\":\"\xff\"}"},
		"another type":   {"/v1/sales/s/claims", "Content-Type: text/plain\r\n", `{"user":"u"}`},
		"no type":        {"/v1/sales/gone/claims", "Content-Type:\r\n", `{"user":"u"}`},
		"a browser":      {"/v1/sales/gone/claims", "Origin: https://shop.example\r\n", `{"user":"u"}`},
		"a mute browser": {"/v1/sales/s/claims", "Content-Type:\r\nOrigin: https://evil.example\r\n", `{"user":"u"}`},
		"another site":   {"/v1/sales/gone/claims", "Sec-Fetch-Site: cross-site\r\n", `{"user":"u"}`},
		"no token":       {"/v1/sales/s/claims", "Authorization: none\r\n", `{"user":"u"}`},
		"two tokens":     {"/v1/sales/gone/claims", "Authorization: a\r\nAuthorization: b\r\n", `{"user":"u"}`},
		"a panic":        {"/v1/sales/s/claims", "Authorization: panic\r\n", `{"user":"u"}`},
		"down":           {"/v1/sales/s/claims", "Authorization: down\r\nX-Request-Id: mine\r\n", `{"user":"u"}`},
		"no body":        {"/v1/sales/s/claims", "", ``},
		"a large body":   {"/v1/sales/s/claims", "", `{"user":"` + strings.Repeat("u", 5000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			header := "Content-Type: application/json\r\n" + c.header
			if strings.HasPrefix(c.header, "Content-Type:\r\n") {
				header = strings.TrimPrefix(c.header, "Content-Type:\r\n")
			} else if strings.HasPrefix(c.header, "Content-Type") {
				header = c.header
			}
			request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", c.path, header, len(c.body), c.body)
			lane := w.raw(t, request)
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request)))
			if err != nil {
				t.Fatal(err)
			}
			rec := httptest.NewRecorder()
			w.server.ServeHTTP(rec, r)
			plain := answer{status: rec.Code, header: rec.Header(), raw: rec.Body.String()}
			if comparable(lane) != comparable(plain) {
				t.Errorf("the lane:\n%s\nnet/http:\n%s", comparable(lane), comparable(plain))
			}
		})
	}
}

// believer is an identity with a few moods.
type believer struct{}

func (believer) Identify(_ context.Context, authorization string) (admission.Caller, error) {
	switch authorization {
	case "none":
		return admission.Caller{}, admission.Refuse("no")
	case "down":
		return admission.Caller{}, fmt.Errorf("the disk is on fire")
	case "panic":
		panic("at the disco")
	}
	return admission.Caller{Role: admission.Anyone}, nil
}

func TestAPanicIsAnswered(t *testing.T) {
	w := start(t, func(w *world) { w.identity = believer{} })
	w.sale("s", 2, "")
	for _, request := range []string{"POST /v1/sales/s/claims", "GET /v1/claims/1", "POST /v1/sales/%73/claims"} {
		got := w.raw(t, request+" HTTP/1.1\r\nHost: x\r\nAuthorization: panic\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		if got.status != 500 || !strings.Contains(got.raw, `"code":"internal"`) || strings.Contains(got.raw, "disco") {
			t.Errorf("%s: %d %s", request, got.status, got.raw)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "disco") || !strings.Contains(log, "believer") {
		t.Error(log)
	}
	w.want(w.claim("s", `{"user":"u"}`), 201, "") // life goes on
}
