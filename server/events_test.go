package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// listener reads the events of a sale.
type listener struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Reader
	stop context.CancelFunc
}

func (w *world) listen(t *testing.T, path string, header ...string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", w.http.URL+path, nil)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.http.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.Status, resp.Header)
	}
	return &listener{t: t, resp: resp, in: bufio.NewReader(resp.Body), stop: cancel}
}

// message is what an event stream carries: an event, or a comment.
type message struct {
	id, event, data, comment string
}

// next returns the next message, or ok false when the stream has ended.
func (l *listener) next() (m message, ok bool) {
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			return m, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			return m, true
		case name == "":
			m.comment = value
		case name == "id":
			m.id = value
		case name == "event":
			m.event = value
		case name == "data":
			m.data = value
		}
	}
}

// event returns the next message that is an event.
func (l *listener) event() (m message, ok bool) {
	for {
		if m, ok = l.next(); !ok || m.id != "" {
			return m, ok
		}
	}
}

func (l *listener) close() { l.stop(); l.resp.Body.Close() }

func TestAStreamThatIsTakenUpAgainHasNoGapAndNothingTwice(t *testing.T) {
	w := start(t)
	w.sale("s", 400, "")
	var crowd sync.WaitGroup
	const users = 300
	for part := range 4 {
		crowd.Go(func() {
			for i := part; i < users; i += 4 {
				if _, err := w.try(ask{"POST", "/v1/sales/s/claims", fmt.Sprintf(`{"user":"u%d"}`, i), nil}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	last, claims := 0, map[string]bool{}
	for last < users+1 { // and the event that made the sale
		header := []string{}
		if last > 0 {
			header = []string{"Last-Event-ID", strconv.Itoa(last)}
		}
		l := w.listen(t, "/v1/sales/s/events?after=0", header...)
		for range 37 { // then the connection breaks
			m, ok := l.event()
			if !ok {
				t.Fatal("the stream ended")
			}
			if last++; m.id != strconv.Itoa(last) {
				t.Fatalf("event %s came where %d was due", m.id, last)
			}
			w.checkEvent(t, m, claims)
			if last == users+1 {
				break
			}
		}
		l.close()
	}
	crowd.Wait()
	if len(claims) != users {
		t.Fatalf("%d claims were told", len(claims))
	}
}

// checkEvent holds an event against the document.
func (w *world) checkEvent(t *testing.T, m message, claims map[string]bool) {
	t.Helper()
	s, err := specOnce()
	if err != nil {
		t.Fatal(err)
	}
	sch, err := s.schema("/components/schemas/Event")
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonschema.UnmarshalJSON(strings.NewReader(m.data))
	if err != nil {
		t.Fatal(err)
	}
	if err := sch.Validate(data); err != nil {
		t.Fatalf("%v: %s", err, m.data)
	}
	var e struct {
		Kind  string
		Claim struct{ ID string }
	}
	if err := json.Unmarshal([]byte(m.data), &e); err != nil || e.Kind != m.event {
		t.Fatalf("%v: %+v", err, m)
	}
	if e.Claim.ID != "" {
		if claims[e.Claim.ID] {
			t.Fatal("twice: " + m.data)
		}
		claims[e.Claim.ID] = true
	}
}

func TestAStreamTellsEverythingThatOperatorsDo(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	l := w.listen(t, "/v1/sales/s/events")
	defer l.close()
	w.admin("POST", "/v1/sales/s/freeze", "")
	w.admin("POST", "/v1/sales/s/resume", "")
	w.admin("PATCH", "/v1/sales/s", `{"name":"x"}`)
	w.admin("POST", "/v1/sales/s/restock", `{"add":-1}`)
	w.admin("POST", "/v1/sales/s/close", "")
	var kinds []string
	for range 6 {
		m, _ := l.event()
		w.checkEvent(t, m, map[string]bool{})
		kinds = append(kinds, m.event)
	}
	if got := strings.Join(kinds, " "); got != "sale.created sale.frozen sale.resumed sale.changed item.restocked sale.closed" {
		t.Fatal(got)
	}
}

func TestAQuietStreamSaysThatItIsStillThere(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	l := w.listen(t, "/v1/sales/s/events?after=1")
	defer l.close()
	if m, _ := l.next(); m.comment == "" {
		t.Fatalf("%+v", m)
	}
	for range 3 {
		w.heartbeat <- time.Time{}
		if m, ok := l.next(); !ok || m.comment != "still here" {
			t.Fatalf("%+v", m)
		}
	}
}

func TestStreamsEndWhenTheServerStops(t *testing.T) {
	w := start(t)
	w.sale("s", 1, "")
	l := w.listen(t, "/v1/sales/s/events")
	defer l.close()
	l.event()
	w.server.Close()
	for {
		if _, ok := l.next(); !ok {
			break
		}
	}
	if got, err := w.try(ask{"GET", "/v1/sales/s/events", "", []string{"Authorization", "Bearer " + adminToken}}); err != nil || got.status != 503 {
		t.Fatal(got.raw, err)
	}
}

// TestAReaderWhoDoesNotReadIsCutOff opens a stream, reads nothing, and waits
// until the server has given it up: Close returns only then.
func TestAReaderWhoDoesNotReadIsCutOff(t *testing.T) {
	w := start(t, func(w *world) { w.write = 50 * time.Millisecond })
	w.must(w.many("s", 30_000))
	conn, err := net.Dial("tcp", w.http.Listener.Addr().String())
	w.must(err)
	defer conn.Close()
	w.must(conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET /v1/sales/s/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", adminToken)
	w.must(err)
	// The stream shows in the metrics once its handler has returned.
	const ended = `route="GET /v1/sales/{sale}/events",status="200"} 1`
	for !strings.Contains(w.send(ask{method: "GET", path: "/metrics"}).raw, ended) {
		if t.Context().Err() != nil {
			t.Fatal("the stream goes on")
		}
	}
}

// many makes a sale with so many claims.
func (w *world) many(sale string, n int) error {
	w.sale(sale, n, `,"per_user":0`)
	for n > 0 {
		size := min(n, 1000)
		body := `{"claims":[{"user":"somebody-with-a-long-name"}` + strings.Repeat(`,{"user":"somebody-with-a-long-name"}`, size-1) + `]}`
		if got := w.admin("POST", "/v1/sales/"+sale+"/claims:batch", body); got.status != 200 {
			return fmt.Errorf("%d: %s", got.status, got.raw)
		}
		n -= size
	}
	return nil
}
